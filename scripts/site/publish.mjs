/** Writes what a built site has beside its pages: the Markdown of each, schemas, lists for language models, and copies of linked files. */
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../process/repository.mjs';
import { llmsFullTxt, llmsTxt } from './llms.mjs';
import { copyOf } from './outside-links.mjs';
import { DOCS, pagesOfDocs } from './pages.mjs';

/**
 * @param {{ outDir: string, base: string, description: string, copied: ReadonlySet<string> }} site `copied`: files of the repository.
 */
export function publish({ outDir, base, description, copied }) {
  const schemas = readdirSync(DOCS, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.json'));
  for (const name of [...pagesOfDocs(), ...schemas]) copy(join(DOCS, name), join(outDir, name));
  for (const file of copied) copy(join(ROOT, file), join(outDir, copyOf(file)));
  writeFileSync(join(outDir, 'llms.txt'), llmsTxt({ base, description }));
  writeFileSync(join(outDir, 'llms-full.txt'), llmsFullTxt());
}

/**
 * @param {string} from
 * @param {string} to
 */
function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
}
