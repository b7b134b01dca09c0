/** `weir tail`: a live sample of decisions, until it is stopped. */

import { setTimeout as sleep } from 'node:timers/promises';
import { lastingLines } from '../admin/lasting-lines';
import type { Operations } from '../../../administration/admin-client/operations';
import { hitsText } from '../../../lib/text/amount';
import { printable } from '../admin/printable';
import { readWhole } from '../usage-error';
import { action, type ControlCommand } from './control-command';
import { selectorText, showEntries } from './values/entries-text';
import { showLimit } from './values/limit-text';

type Sample = Operations['tailDecisions']['reply'];

const DATA = 'data: ';

const PER_SECOND_MAX = 100;

const COUNT_MAX = 1_000_000;

export const tail: ControlCommand = {
  name: 'tail',
  actions: [
    action({
      name: '',
      purpose: 'Shows a sample of the decisions of the instance that answers, until it is stopped.',
      options: {
        domain: { type: 'string', form: 'DOMAIN', help: 'only requests of this domain' },
        entries: { type: 'string', form: 'KEY=VALUE,KEY', help: 'only requests with a descriptor that contains these entries' },
        denied: { type: 'boolean', help: 'only requests that are over a limit' },
        'per-second': { type: 'string', form: 'N', help: `most samples in a second (default 10, at most ${PER_SECOND_MAX})` },
        count: { type: 'string', form: 'N', help: 'end after this many samples (default: when it is stopped)' },
      },
      run: async ({ admin, values, printLine }) => {
        const { domain, entries, denied, 'per-second': perSecond, count } = values;
        const query = {
          ...(domain !== undefined && { domain }),
          ...(entries !== undefined && { entry: selectorText(entries) }),
          ...(denied === true && { denied }),
          per_second: readWhole('--per-second', perSecond, { min: 1, max: PER_SECOND_MAX, otherwise: 10 }),
        };
        let left = readWhole('--count', count, { min: 1, max: COUNT_MAX, otherwise: COUNT_MAX });
        const stop = new AbortController();
        // The reader of a pipe that leaves, as `head`, ends the tail.
        process.stdout.once('error', () => {
          stop.abort();
        });
        const lines = lastingLines({
          open: () => admin.lines('tailDecisions', { query }, stop.signal),
          signal: stop.signal,
          pause: (ms) => sleep(ms, undefined, { signal: stop.signal }).catch(() => undefined),
          onPause: (reason, waitMs) => {
            console.error(`weir tail: ${reason}; it is opened again in ${Math.ceil(waitMs)} ms`);
          },
        });
        for await (const line of lines) {
          if (!line.startsWith(DATA)) continue;
          const json = line.slice(DATA.length);
          printLine(json, () => sampleText(JSON.parse(json) as Sample));
          left -= 1;
          if (left === 0) stop.abort();
        }
      },
    }),
  ],
};

function sampleText({ at, domain, over_limit: isOver, blocked = false, without, skipped, descriptors }: Sample): string {
  const parts = descriptors.map((each) => `${showEntries(each.entries)} (${verdictText(each, blocked)})`);
  const notes = `${without === undefined ? '' : ` [${without}]`}${skipped === 0 ? '' : ` [${skipped} not shown]`}`;
  return printable(`${at} ${isOver ? 'DENIED' : 'ok    '} ${domain} ${parts.join(' + ')}${notes}`);
}

/** A blocked request asks no limit. */
function verdictText({ rule, block, limit, remaining, over_limit: isOver }: Sample['descriptors'][number], isBlocked: boolean): string {
  if (block !== undefined) return `block ${block}`;
  if (isBlocked) return 'not counted';
  if (limit === undefined) return rule === undefined ? 'no rule' : 'no limit';
  return `${showLimit(limit)}, ${hitsText(remaining ?? 0, limit.show)} left${isOver ? ', over' : ''}`;
}
