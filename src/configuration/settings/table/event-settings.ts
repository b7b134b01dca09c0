/** The settings of events. */

import { boolean, duration, integer, text, textLike } from './setting-types';
import { row } from './setting-row';

const events = { group: 'Events' } as const;

export const EVENT_SETTINGS = {
  eventsUrl: row({
    ...events,
    name: 'EVENTS_URL',
    type: textLike({ pattern: /^https?:\/\/[^\s@/?#]+([/?][^\s#]*)?$/i, accepts: 'a URL of http or https without a user' }),
    default: undefined,
    secret: true,
    meaning: 'Receiver of [events](events.md). Needs EVENTS_SECRET_FILE.',
  }),
  eventsSecretFile: row({
    ...events,
    name: 'EVENTS_SECRET_FILE',
    type: text('the path of a file'),
    default: undefined,
    meaning:
      'File with the secret that signs events, of at least 24 bytes (after `whsec_`: Base64). A second line: an older one, which signs too.',
  }),
  eventsSource: row({
    ...events,
    name: 'EVENTS_SOURCE',
    type: textLike({ pattern: /^[!-~]{1,256}$/, accepts: '1 to 256 printable ASCII characters' }),
    default: 'weir',
    meaning: '`source` of events.',
  }),
  eventsAllowPrivateAddresses: row({
    ...events,
    name: 'EVENTS_ALLOW_PRIVATE_ADDRESSES',
    type: boolean(),
    default: 'false',
    meaning: 'Allow addresses that are not public.',
  }),
  eventsTimeoutMs: row({
    ...events,
    name: 'EVENTS_TIMEOUT',
    type: duration({ min: '100ms', max: '1m' }),
    default: '5s',
    meaning: 'Longest wait for an answer.',
  }),
  eventsRetryForMs: row({
    ...events,
    name: 'EVENTS_RETRY_FOR',
    type: duration({ min: '1s', max: '168h' }),
    default: '24h',
    meaning: 'Age at which an event is given up.',
  }),
  eventsOutboxMax: row({
    ...events,
    name: 'EVENTS_OUTBOX_MAX',
    type: integer({ min: 1, max: 100_000 }),
    default: '10000',
    meaning: 'Most events that wait.',
  }),
};
