/** The commands of docs/tenants.md, their outputs, and the settings that its instances start with. */

import { fencedBlocks } from '../../support/docs/markdown';
import { readFileSync } from 'node:fs';

const PAGE = 'docs/tenants.md';

export interface Step {
  /** As a reader types it. */
  readonly command: string;
  /** What the page says that it prints; a line of dots stands for any lines. */
  readonly shown: string;
}

/** The assignments of the block that starts the instances. */
export function settingsOfPage(): Readonly<Record<string, string>> {
  const start = fencedBlocks(PAGE, 'sh').find((block) => block.includes('weir serve'));
  return Object.fromEntries(Array.from((start ?? '').matchAll(/\b([A-Z][A-Z_]+)=(\S+)/g), ([, name = '', value = '']) => [name, value]));
}

/** Every command of `weir` with an output, in the order of the page. */
export function stepsOfPage(): readonly Step[] {
  const blocks = readFileSync(PAGE, 'utf8').matchAll(/^```sh\n(weir [\s\S]*?)^```\n+```text\n([\s\S]*?)^```$/gm);
  return Array.from(blocks, ([, command = '', shown = '']) => ({ command: command.trim(), shown }));
}

/** Whether a command printed what the page shows. */
export function printsAsShown(printed: string, { shown }: Step): boolean {
  return patternOf(shown).test(withoutTimes(printed));
}

/** Fails with both texts if it did not. */
export function expectShown(printed: string, { shown }: Step): void {
  expect(withoutTimes(printed)).toMatch(patternOf(shown));
}

function patternOf(shown: string): RegExp {
  const lines = withoutTimes(shown).trimEnd().split('\n');
  const parts = lines.map((line) => (line === '...' ? '(?:.*\\n)*' : `${line.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')}\\n`));
  return new RegExp(`^${parts.join('')}$`);
}

/** Without what differs from run to run: times, versions, counts and the width of columns. */
function withoutTimes(text: string): string {
  return text
    .split('\n')
    .map((line) =>
      line
        .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
        .replaceAll(/\b\d{16}\b/g, 'VERSION')
        .replaceAll(/\b\d+(?:ms|[dhms])(?: \d+[dhms])?(?=\W|$)/g, 'DURATION')
        .replaceAll(/(?<=\s|^)\d+(?=\s|$)/g, 'N')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    .filter((line) => line !== '')
    .map((line) => `${line}\n`)
    .join('');
}
