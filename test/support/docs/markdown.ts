/** What the documentation's tests read out of Markdown. */

import { readFileSync } from 'node:fs';

/** The cells of every table row of a page, heads and rules left out. */
export function tableRows(file: string): string[][] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line, i, lines) => line.startsWith('|') && !/^\|[-|: ]+\|$/.test(line) && !/^\|[-|: ]+\|$/.test(lines[i + 1] ?? ''))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
}

/** The fenced blocks of a page in that language. */
export function fencedBlocks(file: string, language: string): string[] {
  const pattern = new RegExp('^```' + language + '\\n([\\s\\S]*?)^```$', 'gm');
  return Array.from(readFileSync(file, 'utf8').matchAll(pattern), ([, block]) => block!);
}
