/** Writes the folders of the library packages: of dist/ the files that their exports load, and a package.json with the packages that these need. */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseJson } from '../process/parse-json.mjs';
import { ROOT } from '../process/repository.mjs';
import { LIBRARY_PACKAGES } from './library-packages.mjs';
import { writeDeclarations } from './write-declarations.mjs';

/** @typedef {import('./library-packages.mjs').LibraryPackage} LibraryPackage */
/** @typedef {{ version: string, license: string, repository?: object, homepage?: string, bugs?: object, engines: object, publishConfig: object, dependencies: Readonly<Record<string, string>>, optionalDependencies: Readonly<Record<string, string>> }} Manifest */

const DIST = join(ROOT, 'dist');

/** `require('x')` and `import('x')` of a compiled file, and the file of a thread. */
const LOADED = /(?:require|import)\(["']([^"']+)["']\)|join\(__dirname, ["']([\w-]+\.js)["']\)/g;

/** A debugger would look for the sources. */
const SOURCE_MAP = /\n\/\/# sourceMappingURL=.*\n?$/;

/**
 * dist/ must be built. Resolves to what failed, or to undefined.
 *
 * @param {{ output: string }} options The folder that the folders of the packages are written to.
 */
export async function buildPackages({ output }) {
  for (const [name, library] of Object.entries(LIBRARY_PACKAGES)) {
    const failure = await buildPackage(library, join(output, name));
    if (failure !== undefined) return failure;
  }
  return undefined;
}

/**
 * @param {LibraryPackage} library
 * @param {string} folder
 */
async function buildPackage(library, folder) {
  rmSync(folder, { recursive: true, force: true });
  const sources = Object.values(library.exports);
  const { files, packages } = loadedBy(sources.map((name) => join(DIST, `${name}.js`)));
  for (const file of files) {
    const target = join(folder, 'dist', relative(DIST, file));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, readFileSync(file, 'utf8').replace(SOURCE_MAP, '\n'));
  }
  for (const name of library.folders) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  writeFileSync(join(folder, 'README.md'), readmeOf(library));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifestOf(library, packages), undefined, 2)}\n`);
  return writeDeclarations({ sources, output: join(folder, 'dist') });
}

/**
 * The compiled files that these load, themselves included, and the packages that all of them load.
 *
 * @param {readonly string[]} entries
 */
function loadedBy(entries) {
  const waiting = [...entries];
  /** @type {Set<string>} */
  const files = new Set();
  /** @type {Set<string>} */
  const packages = new Set();
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    for (const [, specifier, thread] of readFileSync(file, 'utf8').matchAll(LOADED)) {
      const name = specifier ?? `./${thread}`;
      if (name.startsWith('.')) waiting.push(compiledFile(resolve(dirname(file), name)));
      else if (!name.startsWith('node:')) packages.add(packageOf(name));
    }
  }
  return { files, packages };
}

/** @param {string} path */
function compiledFile(path) {
  return existsSync(`${path}.js`) ? `${path}.js` : path;
}

/** @param {string} specifier */
function packageOf(specifier) {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/**
 * @param {LibraryPackage} library
 * @param {ReadonlySet<string>} packages
 */
function manifestOf({ name, description, exports, optional }, packages) {
  const { version, license, repository, homepage, bugs, engines, publishConfig, dependencies, optionalDependencies } =
    /** @type {Manifest} */ (parseJson(readFileSync(join(ROOT, 'package.json'), 'utf8')));
  /** @param {(each: string) => boolean} chosen */
  const versionsOf = (chosen) => {
    const names = [...packages].filter(chosen).sort();
    return Object.fromEntries(names.map((each) => [each, versionRange(each, { ...dependencies, ...optionalDependencies })]));
  };
  /** @type {[string, object][]} */
  const exported = Object.entries(exports).map(([path, source]) => [
    path,
    { types: `./dist/${source}.d.ts`, default: `./dist/${source}.js` },
  ]);
  return {
    // The registry compares the repository with the one that signs the provenance.
    ...{ name, version, description, license, repository, homepage, bugs, publishConfig, engines },
    exports: { ...Object.fromEntries(exported), './package.json': './package.json' },
    dependencies: versionsOf((each) => !optional.includes(each)),
    ...(optional.length > 0 && {
      peerDependencies: versionsOf((each) => optional.includes(each)),
      peerDependenciesMeta: Object.fromEntries(optional.map((each) => [each, { optional: true }])),
    }),
  };
}

/**
 * @param {string} name
 * @param {Manifest['dependencies']} dependencies
 */
function versionRange(name, dependencies) {
  const version = dependencies[name];
  if (version === undefined) throw new Error(`dist/ loads ${name}, which package.json does not name; add it to its dependencies`);
  // A fix of a dependency reaches programs without a new version of this package.
  return `~${version}`;
}

/** @param {LibraryPackage} library */
function readmeOf({ name, description }) {
  return `# ${name}\n\n${description}\n\nIts page is docs/libraries.md in the repository of Weir.\n`;
}
