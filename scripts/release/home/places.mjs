/** The files that name the home of the project: what each says of it. They are written and checked by the same functions. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../../process/parse-json.mjs';
import { homepageOf, runbookOf } from './home.mjs';
import { DOCUMENTS } from './documents.mjs';
import { inBlock } from './block.mjs';

/** @typedef {import('./home.mjs').Home} Home */
/** @typedef {(text: string, home: Home & { readonly version: string }) => string} Rewrite The text of a file, as it is for this home. */

/** @type {Readonly<Record<string, Rewrite>>} */
const FILES = {
  'package.json': (text, home) => {
    const { name: _, version, description, license, repository: _r, homepage: _h, bugs: _b, ...rest } = readObject(text);
    return writeObject({ name: `${home.npmScope}/weir`, version, description, license, ...linksOf(home), ...rest });
  },
  'package-lock.json': (text, { npmScope }) => {
    const lock = readObject(text);
    const packages = /** @type {Record<string, object>} */ (lock.packages);
    const name = `${npmScope}/weir`;
    return writeObject({ ...lock, name, packages: { ...packages, '': { ...packages[''], name } } });
  },
  'deploy/helm/weir/Chart.yaml': (text, home) => inBlock(text, chartLines(home), '#'),
  'deploy/helm/weir/values.yaml': (text, home) => text.replace(/^( *runbookUrl:) .*$/m, `$1 ${runbookOf(home)}`),
  'deploy/helm/artifacthub-repo.yml': (text, home) => inBlock(text, listingLines(home), '#'),
  'deploy/Dockerfile': (text, home) =>
    text
      .replace(/^ARG SOURCE=.*$/m, `ARG SOURCE=${home.repository === '' ? 'unknown' : home.repository}`)
      .replace(/^ARG URL=.*$/m, `ARG URL=${homepageOf(home) === '' ? 'unknown' : homepageOf(home)}`),
};

/** Files that name packages of npm: their scope is that of the home. */
const SCOPED = [
  'CHANGELOG.md',
  'bench/library.ts',
  'docs/internals/process.md',
  'docs/libraries.md',
  'docs/generated/requirements.md',
  'scripts/build/library-packages.mjs',
  'src/program/library/client/create-client.ts',
  'src/program/library/in-process/create-limiter.ts',
  'test/integration/library/package.test.ts',
  'test/integration/library/pack-from-sources.test.ts',
  'test/docs/libraries.test.ts',
  'test/release/contents.test.ts',
  'test/release/publish.test.ts',
  'test/support/library/installed-package.ts',
];

/**
 * @param {string} text
 * @param {{ from: string, to: string }} scopes
 */
function rescope(text, { from, to }) {
  return text.replaceAll(new RegExp(`${from}(?![\\w.-])`, 'g'), to).replaceAll(`${from.slice(1)}-`, `${to.slice(1)}-`);
}

/**
 * Each file with what it should say, in the order of their names.
 *
 * @param {{ root: string, home: Home }} input
 */
export function writtenPlaces({ root, home }) {
  const { name, version } = /** @type {{ name: string, version: string }} */ (parseJson(readFileSync(join(root, 'package.json'), 'utf8')));
  const scopes = { from: name.split('/')[0] ?? '', to: home.npmScope };
  const rewrites = { ...FILES, ...DOCUMENTS };
  const paths = [...new Set([...Object.keys(rewrites), ...SCOPED])].sort();
  return paths.map((path) => {
    const before = readFileSync(join(root, path), 'utf8');
    const own = rewrites[path]?.(before, { ...home, version }) ?? before;
    return { path, before, after: SCOPED.includes(path) ? rescope(own, scopes) : own };
  });
}

/**
 * The files that say something else than the home, as sentences.
 *
 * @param {{ root: string, home: Home }} input
 */
export function placeFaults(input) {
  const differing = writtenPlaces(input).filter(({ before, after }) => before !== after);
  return differing.map(({ path }) => `${path} does not say what scripts/release/home.json says; run node scripts/release/set-home.mjs.`);
}

/** @param {Home} home */
function linksOf(home) {
  const { repository } = home;
  if (repository === '') return {};
  return {
    repository: { type: 'git', url: `git+${repository}.git` },
    homepage: homepageOf(home),
    bugs: { url: `${repository}/issues` },
  };
}

/** @param {Home} home */
function chartLines(home) {
  const { repository, icon, maintainer, email } = home;
  return [
    ...(repository === '' ? [] : [`home: ${homepageOf(home)}`, `sources: [${repository}]`]),
    ...(icon === '' ? [] : [`icon: ${icon}`]),
    ...(maintainer === '' ? [] : [`maintainers: [{name: "${maintainer}", email: "${email}"}]`]),
    'annotations:',
    '  artifacthub.io/license: Apache-2.0',
    '  artifacthub.io/category: networking',
    ...(repository === ''
      ? []
      : [
          '  artifacthub.io/links: |',
          '    - name: support',
          `      url: ${repository}/issues`,
          '    - name: runbook',
          `      url: ${runbookOf(home)}`,
        ]),
  ];
}

/** @param {Home} home */
function listingLines({ chartsId, maintainer, email }) {
  return [
    ...(chartsId === '' ? [] : [`repositoryID: ${chartsId}`]),
    ...(maintainer === '' ? ['owners: []'] : [`owners: [{name: "${maintainer}", email: "${email}"}]`]),
  ];
}

/**
 * @param {string} text
 * @returns {Record<string, unknown>}
 */
function readObject(text) {
  return /** @type {Record<string, unknown>} */ (parseJson(text));
}

/** @param {object} value */
function writeObject(value) {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
