/** The page of the process describes each package that serving needs, and names the files that import it. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { sourceFiles } from '../support/docs/source-files';

const PAGE = 'docs/internals/process.md';
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
  'dependencies' | 'optionalDependencies',
  Record<string, string>
>;
const dependencies = { ...manifest.dependencies, ...manifest.optionalDependencies };

/** From the name to the text of the paragraph. */
function paragraphs(): Map<string, string> {
  const [, section = ''] = readFileSync(PAGE, 'utf8').split('## Runtime dependencies\n');
  const [packages = ''] = section.split('Owned instead of a package');
  return new Map(Array.from(packages.matchAll(/^- \*\*`([^`]+)`\*\*((?:.*\n(?! *- |\n))*.*)/gm), ([, name, text]) => [name!, text!]));
}

/** The files of src/ that import the package, or a file of it. */
function importersOf(name: string): string[] {
  const imported = new RegExp(`from '${name}['/]`);
  return sourceFiles().flatMap((file) => (imported.test(file.text) ? [`src/${file.name}`] : []));
}

test('each runtime dependency has a paragraph, and each paragraph a dependency', () => {
  expect([...paragraphs().keys()].sort()).toEqual(Object.keys(dependencies).sort());
});

test.each(Object.keys(dependencies))('%s has sentences on its use, and is imported where they say', (name) => {
  const text = paragraphs().get(name) ?? '';
  expect(text.length).toBeGreaterThan(60);
  expect(importersOf(name)).not.toEqual([]);
  const [, only] = /Only `(src\/[^`]+)` imports it/.exec(text) ?? [];
  if (only === undefined) return;
  const users = importersOf(name).map((file) => (only.endsWith('.ts') ? file : path.posix.dirname(file)));
  expect([...new Set(users)]).toEqual([only]);
});
