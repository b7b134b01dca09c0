/** `npm run bench [-- --short] [-- --usage] [-- --target host:port --pid N]`: what a decision costs from the wire to the wire, and the bar. */

import path from 'node:path';
import { parseArgs } from 'node:util';
import { parseTarget, type Target } from './contenders';
import { failuresOf, renderDecisions } from './decisions-report';
import { publishSection } from './generated-doc';
import { FULL, measureDecisions, SHORT, USAGE } from './measure-decisions';

const BENCHMARKS_PAGE = path.join(__dirname, '..', 'docs', 'benchmarks.md');

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { short: { type: 'boolean', default: false }, usage: { type: 'boolean', default: false }, target: { type: 'string' }, pid: { type: 'string' } } });
  const target = targetOf(values);
  if (target === 'unclear') {
    console.error('A target is named by both: --target host:port --pid N');
    process.exitCode = 1;
    return;
  }
  const result = await measureDecisions({ ...(values.usage ? USAGE : values.short ? SHORT : FULL), target, tell: (text) => { console.log(`${new Date().toISOString()} ${text}`); } });
  const markdown = renderDecisions(result);
  console.log(`\n${markdown}\n`);
  // The published figures are those of a full run.
  if (!values.short && !values.usage) publishSection({ file: BENCHMARKS_PAGE, name: 'decisions', command: 'npm run bench', markdown });
  for (const failure of failuresOf(result)) {
    console.error(failure);
    process.exitCode = 1;
  }
}

function targetOf({ target, pid }: { readonly target?: string | undefined; readonly pid?: string | undefined }): Target | undefined | 'unclear' {
  if (target === undefined && pid === undefined) return undefined;
  return (target === undefined ? undefined : parseTarget(target, Number(pid))) ?? 'unclear';
}

void main();
