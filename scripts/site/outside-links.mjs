/** Where links lead that leave docs/: into the repository if package.json says where it is, otherwise to a copy of the file, or nowhere. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, extname, join, normalize } from 'node:path/posix';
import { parseJson } from '../process/parse-json.mjs';
import { ROOT } from '../process/repository.mjs';

/** The folder of the copies below the base of the site. A copy is plain text for every server and browser: its name ends in `.txt`. */
const COPIES = 'repository';

/** Files that a reader of the docs wants to see. */
const COPIED = ['.md', '.yaml'];

/** The address of the repository for people, from package.json; undefined: it is not known. */
export function repositoryUrl() {
  const { repository } = /** @type {{ readonly repository?: string | { readonly url?: string } }} */ (
    parseJson(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  );
  const url = typeof repository === 'string' ? repository : repository?.url;
  const address = url?.replace(/^git\+/, '').replace(/\.git$/, '');
  return address?.startsWith('https://') === true ? address : undefined;
}

/**
 * What a link of a page leads to; undefined: its text stays without a link. A link that stays within docs/ is as it was.
 *
 * @param {string} href
 * @param {{ page: string, repository: string | undefined, revision: string }} options `page`: below docs/. `revision`: of the repository.
 * @returns {{ readonly href: string | undefined, readonly copied?: string }} `copied`: the file of the repository to which it leads.
 */
export function linkOf(href, { page, repository, revision }) {
  if (/^(?:[a-z][a-z+.-]*:|\/|#)/i.test(href)) return { href };
  const [target = '', anchor] = href.split('#');
  const file = normalize(join('docs', dirname(page), target));
  if (file.startsWith('docs/')) return { href };
  if (file.startsWith('..') || !existsSync(join(ROOT, file))) throw new Error(`docs/${page} has a dead link: ${href}`);
  const isFolder = statSync(join(ROOT, file)).isDirectory();
  const hash = anchor === undefined ? '' : `#${anchor}`;
  if (repository !== undefined) return { href: `${repository}/${isFolder ? 'tree' : 'blob'}/${revision}/${file}${hash}` };
  if (isFolder || !COPIED.includes(extname(file))) return { href: undefined };
  return { href: `/${copyOf(file)}`, copied: file };
}

/**
 * The path of a copy below the base of the site. Hosts of files leave out folders such as .github.
 *
 * @param {string} file
 */
export function copyOf(file) {
  return `${COPIES}/${file.replace(/^\./, '')}.txt`;
}
