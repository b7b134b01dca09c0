/**
 * A preload of Weirs that tests start: keeps in .cache/ what V8 made of each module and where each was found, which is a third of a start's
 * processor time. A module whose text has changed is compiled as ever. Node from 22 on loads modules in another way: there it does nothing.
 */

'use strict';

const { Buffer } = require('node:buffer');
const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { Script } = require('node:vm');

const ROOT = path.dirname(require.resolve('../../../package.json'));
const FOLDER = process.env.WEIR_CODE_CACHE ?? path.join(ROOT, '.cache', 'code');

/** A process that loaded fewer new modules than this does not write the file again. */
const NEW_MODULES_MIN = 20;

/** The bytes before the index: its length. */
const LENGTH_BYTES = 4;

/**
 * The parts of Node's modules that have no types.
 *
 * @typedef {NodeJS.Module & { _compile: (content: string, filename: string) => unknown }} Compiled
 * @typedef {object} Internals
 * @property {(request: string, parent: NodeJS.Module | undefined, isMain: boolean, options?: object) => string} _resolveFilename
 * @property {Record<string, unknown>} _cache
 * @property {Record<string, unknown>} _extensions
 * @property {(source: string) => string} wrap
 * @property {(name: string) => boolean} isBuiltin
 * @property {Compiled} prototype
 */

/**
 * A module: where its data are in the file, and the hash of its text.
 *
 * @typedef {{ readonly begin: number, readonly end: number, readonly hash: string }} Entry
 * @typedef {{ readonly entries: Record<string, Entry>, readonly found: Record<string, string> }} Index
 */

/** One file for each build, each set of packages and each Node: other code is looked up elsewhere, too. */
function nameOfFile() {
  const times = ['dist/.built', 'node_modules/.package-lock.json'].map((name) => statSync(path.join(ROOT, name)).mtimeMs);
  return createHash('sha1')
    .update([process.version, process.arch, ROOT, ...times].join())
    .digest('hex');
}

/** @param {string} file */
function read(file) {
  try {
    const all = readFileSync(file);
    const begin = LENGTH_BYTES + all.readUInt32LE(0);
    return { .../** @type {Index} */ (JSON.parse(all.toString('utf8', LENGTH_BYTES, begin))), data: all.subarray(begin) };
  } catch {
    return { entries: {}, found: {}, data: Buffer.alloc(0) };
  }
}

/** @param {string} text */
function hashOf(text) {
  return createHash('sha1').update(text).digest('base64');
}

/** @param {string} file */
function preload(file) {
  const internals = /** @type {Internals} */ (/** @type {unknown} */ (Module));
  const { entries, found, data } = read(file);
  /** @type {Map<string, { script: Script, hash: string }>} */
  const compiled = new Map();
  let newModules = 0;

  const { _compile: compile } = internals.prototype;
  /**
   * @this {Compiled}
   * @type {Compiled['_compile']}
   */
  internals.prototype._compile = function (content, filename) {
    // A script from cached data can't import.
    if (content.includes('import(') || content.startsWith('#!')) return compile.call(this, content, filename);
    const hash = hashOf(content);
    const entry = entries[filename];
    const cachedData = entry?.hash === hash ? data.subarray(entry.begin, entry.end) : undefined;
    const script = new Script(internals.wrap(content), { filename, cachedData });
    if (cachedData === undefined) newModules++;
    compiled.set(filename, { script, hash });
    const run = /** @type {(...args: unknown[]) => unknown} */ (script.runInThisContext());
    return run.call(this.exports, this.exports, requireOf(this), this, filename, path.dirname(filename));
  };

  const { _resolveFilename: resolve } = internals;
  internals._resolveFilename = (request, parent, isMain, options) => {
    if (parent?.path === undefined || options !== undefined || internals.isBuiltin(request))
      return resolve(request, parent, isMain, options);
    return (found[`${parent.path}\0${request}`] ??= resolve(request, parent, isMain));
  };

  process.once('exit', () => {
    if (newModules < NEW_MODULES_MIN) return;
    try {
      write(file, { compiled, found, before: { entries, data } });
    } catch {
      // A test may let its process write no files.
    }
  });

  /**
   * What a module has as `require`.
   *
   * @param {NodeJS.Module} module
   */
  function requireOf(module) {
    /** @param {string} id */
    const require = (id) => /** @type {unknown} */ (module.require(id));
    /**
     * @param {string} request
     * @param {object} [options]
     */
    const resolveIn = (request, options) => internals._resolveFilename(request, module, false, options);
    return Object.assign(require, {
      resolve: resolveIn,
      // oxlint-disable-next-line typescript/no-deprecated -- A preload has no `require.main`: it runs before the main module.
      main: process.mainModule,
      extensions: internals._extensions,
      cache: internals._cache,
    });
  }
}

/**
 * Writes what is known of all modules: of those that this process has not loaded, what the file had.
 *
 * @param {string} file
 * @param {{ compiled: ReadonlyMap<string, { script: Script, hash: string }>, found: Index['found'], before: Pick<Index, 'entries'> & { data: Buffer } }} known
 */
function write(file, { compiled, found, before }) {
  /** @type {Record<string, Entry>} */
  const entries = {};
  /** @type {Buffer[]} */
  const parts = [];
  let end = 0;
  /**
   * @param {string} name
   * @param {string} hash
   * @param {Buffer} part
   */
  const add = (name, hash, part) => {
    parts.push(part);
    entries[name] = { begin: end, end: end + part.length, hash };
    end += part.length;
  };
  for (const [name, entry] of Object.entries(before.entries))
    if (!compiled.has(name)) add(name, entry.hash, before.data.subarray(entry.begin, entry.end));
  for (const [name, { script, hash }] of compiled) add(name, hash, script.createCachedData());
  const index = Buffer.from(JSON.stringify({ entries, found }));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(index.length);
  mkdirSync(FOLDER, { recursive: true });
  const whole = `${file}.${process.pid}`;
  writeFileSync(whole, Buffer.concat([length, index, ...parts]));
  renameSync(whole, file);
  // Those of earlier builds.
  for (const name of readdirSync(FOLDER)) if (!name.startsWith(path.basename(file))) rmSync(path.join(FOLDER, name), { force: true });
}

if (process.version.startsWith('v20.')) preload(path.join(FOLDER, nameOfFile()));
