/** The outputs that pages show are those of the commands above them. */

import { readFileSync } from 'node:fs';
import { runWeir } from '../../support/processes/command';

const PAGES = ['docs/rollout.md', 'docs/simulate.md'];

interface Shown {
  readonly page: string;
  readonly command: string;
  readonly output: string;
}

/** Each block of a shell that has a block of text below it. */
function shownOn(page: string): readonly Shown[] {
  const text = readFileSync(page, 'utf8');
  return Array.from(text.matchAll(/^```sh\n([^`]*)```\n\n```text\n([^`]*)```$/gm), ([, command = '', output = '']) => ({
    page,
    command: command.replaceAll('\\\n', ' ').trim(),
    output,
  }));
}

const SHOWN = PAGES.flatMap(shownOn);

test('each of the pages shows outputs', () => {
  expect(PAGES.filter((page) => SHOWN.every((shown) => shown.page !== page))).toEqual([]);
});

test.each(SHOWN)('$page: $command', async ({ command, output }) => {
  const [program, ...args] = command.split(/\s+/);
  expect(program).toBe('weir');
  expect((await runWeir(args)).stdout).toBe(output);
});
