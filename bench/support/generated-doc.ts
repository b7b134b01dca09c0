/** Sections of pages that are written by a command and by nobody else. */

import { readFileSync, writeFileSync } from 'node:fs';

/** Puts the section in its old place, or at the end. */
export function publishSection({ file, ...section }: GeneratedSection & { readonly file: string }): void {
  writeFileSync(file, replaceSection(readFileSync(file, 'utf8'), section));
}

export interface GeneratedSection {
  readonly name: string;
  /** What writes it. */
  readonly command: string;
  readonly markdown: string;
}

function replaceSection(document: string, { name, command, markdown }: GeneratedSection): string {
  const begin = `<!-- begin ${name}: written by \`${command}\` -->`;
  const end = `<!-- end ${name} -->`;
  const section = `${begin}\n\n${markdown.trim()}\n\n${end}`;
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) return `${document.trimEnd()}\n\n${section}\n`;
  return `${document.slice(0, from)}${section}${document.slice(to + end.length)}`;
}
