/** `docs/benchmarks.md`: one section for each benchmark, written by it and by nobody else. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const FILE = path.join(__dirname, '..', 'docs', 'benchmarks.md');

const HEAD = `# Benchmarks

Each section is written by the command it names, from one run on one machine. Compare rows of one section with each
other, never figures of two: machines and minutes differ.
`;

/** Puts the section in its old place, or at the end. */
export function publishSection(section: GeneratedSection): void {
  const document = existsSync(FILE) ? readFileSync(FILE, 'utf8') : HEAD;
  writeFileSync(FILE, replaceSection(document, section));
}

export interface GeneratedSection {
  /** As in `npm run bench:<name>`. */
  readonly name: string;
  readonly markdown: string;
}

function replaceSection(document: string, { name, markdown }: GeneratedSection): string {
  const begin = `<!-- begin ${name}: written by \`npm run bench:${name}\` -->`;
  const end = `<!-- end ${name} -->`;
  const section = `${begin}\n\n${markdown.trim()}\n\n${end}`;
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) return `${document.trimEnd()}\n\n${section}\n`;
  return `${document.slice(0, from)}${section}${document.slice(to + end.length)}`;
}
