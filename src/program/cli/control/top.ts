/** `weir top`: the keys that ask most, are denied most, or are nearest to their limit. */

import { TOP_COUNT_MAX, TOP_MINUTES, TOP_QUESTIONS } from '../../../state/top/top-keys';
import { readWhole, UsageError } from '../usage-error';
import { action, type ControlCommand } from './control-command';
import { showLimit } from './values/limit-text';
import { textTable } from './values/text-table';
import { showDuration } from './values/until';

const COUNT_DEFAULT = 10;

const [FIRST, ...OTHERS] = TOP_QUESTIONS;

export const top: ControlCommand = {
  name: 'top',
  actions: [
    action({
      name: '',
      purpose: 'Lists the keys that ask most, are denied most, or are nearest to their limit, over all instances.',
      operand: { form: TOP_QUESTIONS.join('|'), words: [FIRST, ...OTHERS] },
      options: {
        minutes: { type: 'string', form: TOP_MINUTES.join('|'), help: 'over the last minutes (default 10)' },
        count: { type: 'string', form: 'N', help: `most keys to list (default ${COUNT_DEFAULT}, at most ${TOP_COUNT_MAX})` },
        domain: { type: 'string', form: 'DOMAIN', help: 'only keys of this domain' },
        rule: { type: 'string', form: 'PATH', help: 'only keys of the rule with this path, joined with dots' },
      },
      run: async ({ admin, values: { minutes: writtenMinutes, count: writtenCount, domain, rule }, operand, print }) => {
        const question = TOP_QUESTIONS.find((each) => each === operand) ?? FIRST;
        const count = readWhole('--count', writtenCount, { min: 1, max: TOP_COUNT_MAX, otherwise: COUNT_DEFAULT });
        const minutes = readMinutes(writtenMinutes);
        const filter = { ...(domain !== undefined && { domain }), ...(rule !== undefined && { rule }) };
        const reply = await admin.call('listTopKeys', { query: { question, minutes, count, ...filter } });
        print(reply, () => {
          const { items, covered_ms: coveredMs, total_hits: total, instances, missing } = reply;
          const absent =
            missing === 0 ? '' : `; ${counted(missing)} ${missing === 1 ? 'has' : 'have'} no top keys: set TOP_KEYS=true there`;
          const note = `${total} hits in ${showDuration(coveredMs)}, from ${counted(instances)}${absent}`;
          if (items.length === 0) return `There are none (${note}).`;
          const rows = items.map((item) => [
            item.domain,
            item.rule,
            item.entries,
            item.count,
            item.error,
            item.limit && limitText(item.limit),
            usedShare(item),
          ]);
          return `${textTable(['DOMAIN', 'RULE', 'ENTRIES', 'HITS', 'TOO HIGH BY', 'LIMIT', 'USED'], rows)}\n${note}`;
        });
      },
    }),
  ],
};

/** A block shows itself as a limit of 0 with this name. */
function limitText(limit: Parameters<typeof showLimit>[0]): string {
  return limit.name === 'block' && limit.requests_per_unit === 0 ? 'a block' : showLimit(limit);
}

/** Each worker is a process of its own. */
function counted(processes: number): string {
  return `${processes} process${processes === 1 ? '' : 'es'}`;
}

interface Shares {
  readonly used_share?: number;
  readonly remaining_share?: number;
}

function usedShare({ remaining_share: left, used_share: used = left === undefined ? undefined : 1 - left }: Shares): string | undefined {
  return used === undefined ? undefined : `${Math.round(100 * used)} %`;
}

function readMinutes(written: string | undefined): (typeof TOP_MINUTES)[number] {
  if (written === undefined) return 10;
  const minutes = TOP_MINUTES.find((each) => String(each) === written);
  if (minutes !== undefined) return minutes;
  throw new UsageError(`--minutes: ${JSON.stringify(written)} is not accepted; use ${TOP_MINUTES.join(', ')}`);
}
