/** The settings of the decision log. */

import { integer, oneOf, ratio, someOf, text, type SettingType } from './setting-types';
import { row } from './setting-row';

const logs = { group: 'Logs and metrics' } as const;

/** The fields of a line that can be left out. */
const FIELDS = ['domain', 'descriptors', 'hits', 'code', 'rule', 'remaining', 'decided_by'] as const;

/** Where the decision log goes. */
export type DecisionLogPlace = 'off' | 'stdout' | { readonly path: string };

function decisionLogPlace(): SettingType<DecisionLogPlace> {
  const words = oneOf(['off', 'stdout']);
  return {
    accepts: 'off, stdout or an absolute path',
    form: { kind: 'text' },
    parse: (written) => (/^\/.*[^/]$/.test(written) ? { value: { path: written } } : words.parse(written)),
  };
}

/** Keys of entries, without spaces around them. */
function keys(): SettingType<readonly string[]> {
  return {
    accepts: 'keys separated by commas, or *',
    form: { kind: 'text' },
    parse(written) {
      const value = written.split(',').map((key) => key.trim());
      return value.every((key) => key !== '') ? { value } : undefined;
    },
  };
}

export const DECISION_LOG_SETTINGS = {
  decisionLog: row({
    ...logs,
    name: 'DECISION_LOG',
    type: decisionLogPlace(),
    default: 'off',
    meaning:
      'Write each decision as a line of JSON ([decision-log.md](decision-log.md)): `stdout`, or the path of a file, to which workers add `.worker` and their number. One process for each file.',
  }),
  decisionLogSample: row({
    ...logs,
    name: 'DECISION_LOG_SAMPLE',
    type: ratio(),
    default: '1',
    meaning: 'Part of decisions that is written, chosen at random.',
  }),
  decisionLogOnly: row({
    ...logs,
    name: 'DECISION_LOG_ONLY',
    type: oneOf(['all', 'denied']),
    default: 'all',
    meaning: '`denied`: write only requests over their limit.',
  }),
  decisionLogFields: row({
    ...logs,
    name: 'DECISION_LOG_FIELDS',
    type: someOf(FIELDS),
    default: FIELDS.join(','),
    meaning: 'Fields of a line beside `time`.',
  }),
  decisionLogHashKeys: row({
    ...logs,
    name: 'DECISION_LOG_HASH_KEYS',
    type: keys(),
    default: undefined,
    meaning:
      'Keys of descriptors whose values are written as keyed hashes; `*`: all ([decision-log.md](decision-log.md#privacy)). Needs DECISION_LOG_HASH_SECRET or its file.',
  }),
  decisionLogHashSecret: row({
    ...logs,
    name: 'DECISION_LOG_HASH_SECRET',
    type: text('a secret'),
    default: undefined,
    secret: true,
    meaning: 'Secret of DECISION_LOG_HASH_KEYS, of at least 16 bytes: equal values have equal hashes where it is equal.',
  }),
  decisionLogHashSecretFile: row({
    ...logs,
    name: 'DECISION_LOG_HASH_SECRET_FILE',
    type: text('the path of a file'),
    default: undefined,
    meaning: 'File with the value of DECISION_LOG_HASH_SECRET, without its last line break. Read at the start.',
  }),
  decisionLogMaxBytes: row({
    ...logs,
    name: 'DECISION_LOG_MAX_BYTES',
    type: integer({ min: 0, max: 1_000_000_000_000 }),
    default: '100000000',
    meaning:
      'Size at which the file of the decision log is rotated: it is renamed to `.1`, and `.1` to `.2`. 0: never, because another program does; Weir opens the path again when the file is gone, or on SIGUSR2.',
  }),
  decisionLogFiles: row({
    ...logs,
    name: 'DECISION_LOG_FILES',
    type: integer({ min: 1, max: 100 }),
    default: '5',
    meaning: 'Files of the decision log to keep, with the one that is written.',
  }),
};
