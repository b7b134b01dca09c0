/** No page has a dead link, and no page or comment names a missing file. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The files below a folder. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(folder, name))
    .filter((name) => /\.\w+$/.test(name));
}

const PAGES = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...['.github', 'docs', 'deploy', 'lua'].flatMap(filesIn).filter((name) => name.endsWith('.md')),
];

/** As GitHub makes them of headings. */
function anchorsOf(page: string): string[] {
  const headings = Array.from(readFileSync(page, 'utf8').matchAll(/^#+ (.*)$/gm), ([, heading]) => heading!);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function linksOf(page: string): { readonly file: string; readonly anchor: string | undefined }[] {
  return Array.from(readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g), ([, file, anchor]) => ({
    file: file === '' ? page : path.join(path.dirname(page), file!),
    anchor,
  }));
}

test('links lead to existing files and headings', () => {
  const links = PAGES.flatMap((page) => linksOf(page).map((link) => ({ page, ...link })));
  expect(links.length).toBeGreaterThan(60);
  const dead = links.filter(({ file, anchor }) => !existsSync(file) || (anchor !== undefined && !anchorsOf(file).includes(anchor)));
  expect(dead).toEqual([]);
});

/** `NAME` stands for any benchmark. */
test('pages and comments name only files of the repository that exist', () => {
  const files = new Set([...PAGES, ...['src', 'lua', 'scripts', 'bench'].flatMap(filesIn)]);
  const named = [...files].flatMap((file) =>
    Array.from(
      readFileSync(file, 'utf8').matchAll(
        /(?<![\w./-])(?:src|test|bench|scripts|deploy|lua|docs)\/[\w./-]+\.(?:ts|mjs|md|lua|yaml|json)\b/g,
      ),
      ([name]) => ({ file, name: name.replace('NAME', 'decisions') }),
    ),
  );
  expect(named.length).toBeGreaterThan(300);
  expect(named.filter(({ name }) => !existsSync(name))).toEqual([]);
});
