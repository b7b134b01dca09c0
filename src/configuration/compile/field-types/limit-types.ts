/** The types of fields that several levels share, or that only limits have. */

import { ALGORITHMS, PREFERRED_ALGORITHM, type ConfiguredAlgorithm } from '../../../domain/algorithm/algorithms';
import { IN_FLIGHT_MAX } from '../../../domain/algorithm/in-flight';
import { UNIT_NAMES, type UnitName } from '../../../domain/descriptor/unit';
import { joinPath, show } from '../../../lib/quote';
import { isTimeZone } from '../../../domain/descriptor/calendar';
import { readSpanS } from '../../../lib/value-texts';
import {
  FAILURE_MODES,
  LEASES,
  ON_LAPSE,
  RESPONSE_HEADERS,
  type FailureMode,
  type Leases,
  type OnLapse,
  type ResponseHeaders,
} from '../../../domain/rule/limit';
import { explainFraction, explainPeriod } from '../foreign/foreign-config';
import type { FieldReader, FieldType } from './field';
import { hits, oneOf, readText, text, textLike, uint32 } from './scalar-types';

export function algorithm(): FieldType<ConfiguredAlgorithm> {
  const misspelled = PREFERRED_ALGORITHM.replace('_', '');
  return oneOf({ names: ALGORITHMS, what: 'algorithm', misspelled: [misspelled, PREFERRED_ALGORITHM] });
}

export function failureMode(): FieldType<FailureMode> {
  return oneOf({ names: FAILURE_MODES, what: 'failure mode', misspelled: ['close', 'closed'] });
}

export function responseHeaders(): FieldType<ResponseHeaders> {
  return oneOf({ names: RESPONSE_HEADERS, what: 'kind of response headers', misspelled: ['itef', 'ietf'] });
}

export function leases(): FieldType<Leases> {
  return oneOf({ names: LEASES, what: 'way to lease', misspelled: ['atuo', 'auto'] });
}

export function onLapse(): FieldType<OnLapse> {
  return oneOf({ names: ON_LAPSE, what: 'way to lapse', misspelled: ['chrage', 'charge'] });
}

export function unit(): FieldType<UnitName> {
  return oneOf({ names: UNIT_NAMES, what: 'unit', misspelled: ['secnod', 'second'], explain: explainPeriod });
}

/** `requests_per_unit`: a number with a fraction gets the same rate in whole numbers as advice. */
export function requestsPerUnit(): FieldType<number> {
  return hits({ explain: (digits, at) => explainFraction(digits, { unit: unitOf(at), multiplier: multiplierOf(at) }) });
}

function unitOf(at: FieldReader): UnitName | undefined {
  const node = at.child('unit');
  return node?.kind === 'scalar' ? UNIT_NAMES.find((name) => name === node.text.toLowerCase()) : undefined;
}

/** The multiplier as written: its own field validates it. */
function multiplierOf(at: FieldReader): number {
  const node = at.child('unit_multiplier');
  return node?.kind === 'scalar' && /^[1-9]\d{0,9}$/.test(node.text) ? Number(node.text) : 1;
}

export function timeZone(): FieldType<string> {
  return textLike({
    accepts: 'an IANA time zone, such as `Europe/Berlin`',
    schema: text().schema,
    parse: (name) => (isTimeZone(name) ? name : undefined),
    refusal: (name) => `unknown time zone ${show(name)}; use an IANA name, such as Europe/Berlin`,
    wrong: [{ write: 'Mars/Olympus', unseen: 'a schema has no list of time zones' }],
  });
}

/** The number of slots of a bucket. */
export function slots(): FieldType<number> {
  return uint32({
    max: { value: IN_FLIGHT_MAX, message: `is over ${IN_FLIGHT_MAX}, the most slots that a bucket has; use a smaller one` },
  });
}

/** A time in seconds. */
export function holdS(): FieldType<number> {
  return textLike({
    accepts: 'whole seconds, minutes and hours from `1s` to `24h`, such as `60s`, `5m` or `1h30m`',
    schema: { type: 'string', pattern: '^(?=.*[1-9])(\\d{1,2}h)?(\\d{1,4}m)?(\\d{1,5}s)?$' },
    parse: readSpanS,
    refusal: (written) => `${show(written)} is not accepted; use whole seconds, minutes or hours from 1s to 24h, such as 60s, 5m or 1h30m`,
    wrong: [{ write: '60' }, { write: '25h', unseen: 'a schema cannot add times' }],
  });
}

/** The name of a limit, safe for headers. */
export function limitName(): FieldType<string> {
  return {
    ...text(),
    read(node, at, name) {
      const given = readText(node, at, name);
      if (given === undefined) return undefined;
      const safe = headerSafe(given);
      if (safe !== given) {
        const message = `${show(given)} holds control characters, which are invalid in headers; Weir replaces each with ?`;
        at.problems.warn({ rule: 'control-characters', offset: node.offset, path: joinPath(at.path, name), message });
      }
      return safe;
    },
  };
}

/** Envoy copies the name of a limit into a response header unchanged: a line break would begin another header. */
export function headerSafe(name: string): string {
  return name.replace(/\p{Cc}/gu, '?');
}
