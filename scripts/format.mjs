/** `npm run format`: formats every file with prettier. The stage `format` checks the result. */
import { join } from 'node:path';
import { run } from './process/run.mjs';
import { FORMATTED } from './test/stages.mjs';

const { code } = await run(
  process.execPath,
  [join('node_modules', 'prettier', 'bin', 'prettier.cjs'), '--write', '--log-level', 'warn', ...FORMATTED],
  { timeoutS: 120 },
);
process.exitCode = code;
