/** `npm run bench [-- --short] [-- --logged] [-- --rows NAME,…] [-- --target host:port --pid N …]`: the cost of a decision from the wire to the wire, and the bar. */

import path from 'node:path';
import { parseArgs } from 'node:util';
import { failuresOf, renderDecisions } from './rows/decisions-report';
import { FULL, LOGGED, measureDecisions, SHORT, USAGE, type MeasureInput } from './rows/measure-decisions';
import { TARGET_NAMES, unknownWords } from './rows/rows';
import { parseTarget } from './servers/contenders';
import { publishSection } from './support/generated-doc';

const RESULTS = path.join(__dirname, 'results.md');

const OPTIONS = {
  short: { type: 'boolean', default: false },
  usage: { type: 'boolean', default: false },
  logged: { type: 'boolean', default: false },
  rows: { type: 'string' },
  rounds: { type: 'string' },
  redis: { type: 'string' },
  target: { type: 'string' },
  pid: { type: 'string' },
  'target-name': { type: 'string' },
  'target-redis-port': { type: 'string' },
} as const;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS });
  const input = inputOf(values);
  if (typeof input === 'string') {
    console.error(input);
    process.exitCode = 1;
    return;
  }
  const result = await measureDecisions(input);
  const markdown = renderDecisions(result);
  console.log(`\n${markdown}\n`);
  // The published figures are those of a full run.
  if (input.form === 'full' && input.only?.length === 0)
    publishSection({ file: RESULTS, name: 'decisions', command: 'npm run bench', markdown });
  for (const failure of failuresOf(result)) {
    console.error(failure);
    process.exitCode = 1;
  }
}

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

/** Or what is wrong with the command line. */
function inputOf(values: Values): MeasureInput | string {
  const size = values.usage ? USAGE : values.logged ? LOGGED : values.short ? SHORT : FULL;
  const only = values.rows?.split(',') ?? [];
  const unknown = unknownWords(only);
  if (unknown.length > 0)
    return `--rows: no row has ${unknown.join(', ')}; name servers (redis), requests (five), and loads (4x64, open-2000).`;
  const rounds = values.rounds === undefined ? size.rounds : Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) return '--rounds takes a whole number of at least 1.';
  const targetName = TARGET_NAMES.find((name) => name === values['target-name']);
  if (values['target-name'] !== undefined && targetName === undefined) return `--target-name is one of ${TARGET_NAMES.join(', ')}.`;
  const target = targetOf(values);
  if (target === 'incomplete') return 'A target needs both --target host:port and --pid N; --target-redis-port is a port of this machine.';
  const { redis } = values;
  return {
    ...size,
    rounds,
    only,
    redis,
    target,
    targetName,
    onProgress: (text) => {
      console.log(`${new Date().toISOString()} ${text}`);
    },
  };
}

function targetOf({ target, pid, 'target-redis-port': redisPort }: Values) {
  if (target === undefined && pid === undefined) return undefined;
  if (target === undefined) return 'incomplete';
  return (
    parseTarget({ address: target, pid: Number(pid), ...(redisPort !== undefined && { redisPort: Number(redisPort) }) }) ?? 'incomplete'
  );
}

void main();
