/** The pages of the docs site: the Markdown files of docs/, as they are, and their titles. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../process/repository.mjs';

export const DOCS = join(ROOT, 'docs');

/** Their paths below docs/, with slashes. */
export function pagesOfDocs() {
  return readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.md'))
    .sort();
}

/** @param {string} page */
export function textOf(page) {
  return readFileSync(join(DOCS, page), 'utf8');
}

/**
 * The first heading.
 *
 * @param {string} page
 */
export function titleOf(page) {
  const [, title] = /^# (.+)$/m.exec(textOf(page)) ?? [];
  if (title === undefined) throw new Error(`docs/${page} has no heading; begin it with one, such as "# Simulate a limit"`);
  return title;
}

/**
 * The address below the base of the site.
 *
 * @param {string} page
 */
export function addressOf(page) {
  return page === 'index.md' ? '/' : `/${page.replace(/\.md$/, '')}`;
}

/**
 * The anchor of a heading, as forges make it: links of the pages lead there too.
 *
 * @param {string} heading
 */
export function anchorOf(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
}
