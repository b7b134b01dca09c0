/** The navigation of the docs site, made of docs/README.md: a group for each of its readers, with the pages that it lists for them. */
import { join } from 'node:path/posix';
import { addressOf, anchorOf, pagesOfDocs, textOf, titleOf } from './pages.mjs';

/** @typedef {{ readonly text: string, readonly link: string }} Item */
/** @typedef {{ readonly reader: string, readonly title: string, readonly link: string, readonly pages: readonly string[] }} Group */

const LIST = 'README.md';

/** Readers find these by another way: the front page by its name, the list of pages by the menu. */
const UNLISTED = ['index.md', LIST];

/** The readers in the order of the list, each with pages below docs/; a page belongs to the first reader that has it. */
export function groupsOfReaders() {
  const existing = new Set(pagesOfDocs());
  /** @type {Set<string>} */
  const seen = new Set(UNLISTED);
  /** @type {Group[]} */
  const groups = [];
  for (const section of textOf(LIST).split(/^## /m).slice(1)) {
    const title = section.split('\n')[0] ?? '';
    const pages = [...new Set(linksOf(section))].filter((page) => existing.has(page) && !seen.has(page));
    for (const page of pages) seen.add(page);
    groups.push({ reader: title.split(':')[0] ?? title, title, link: `/README#${anchorOf(title)}`, pages });
  }
  const last = groups.pop();
  if (last === undefined) throw new Error(`docs/${LIST} has no section for a reader`);
  // The list names the folder of the pages on the inside, and not each of them.
  const inside = [...existing].filter((page) => page.startsWith('internals/') && !seen.has(page));
  return [...groups, { ...last, pages: [...last.pages, ...inside] }];
}

/** @param {string} section */
function linksOf(section) {
  return Array.from(section.matchAll(/\]\(([^)#\s]+\.md)(?:#[^)]*)?\)/g), ([, target = '']) => join('.', target));
}

/** For VitePress: what opens beside each page. */
export function sidebar() {
  return groupsOfReaders().map(({ title, pages }) => ({ text: title, items: pages.map(itemOf) }));
}

/** For VitePress: the menu of the head. */
export function menu() {
  return [
    { text: 'Try', link: '/try' },
    { text: 'For', items: groupsOfReaders().map(({ reader, link }) => ({ text: reader, link })) },
    { text: 'All pages', link: '/README' },
  ];
}

/**
 * @param {string} page
 * @returns {Item}
 */
function itemOf(page) {
  return { text: titleOf(page), link: addressOf(page) };
}
