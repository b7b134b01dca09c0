/**
 * A runtime of jest: Node loads the modules, and those of `src/` and of packages once for all test files of a process. To load them again for
 * each file, in a context of its own, took most of the processor time of short tests. A file with `@jest-environment node` runs in jest's own
 * runtime, which can also mock modules.
 */

const Module = require('node:module');
const path = require('node:path');
const { default: JestRuntime } = require('jest-runtime');
const ProcessEnvironment = require('./process-environment.cjs');

/** @typedef {import('@jest/transform').ScriptTransformer} ScriptTransformer */
/** @typedef {InstanceType<typeof ProcessEnvironment>} Environment */

/**
 * Members of Node's modules that its types leave out.
 *
 * @typedef {(module: NodeJS.Module & { _compile(code: string, filename: string): void }, filename: string) => void} Load
 * @typedef {(request: string, parent: NodeJS.Module | undefined, ...rest: readonly unknown[]) => string} Resolve
 */
const loader = /** @type {{ _extensions: Record<'.js' | '.ts', Load>, _resolveFilename: Resolve }} */ (/** @type {unknown} */ (Module));

/** Loaded again for each test file: jest-circus keeps the tests of a file, and the modules below `test/` its servers and counts. */
const OF_ONE_FILE = [path.join('/', 'node_modules', 'jest-circus', '/'), path.resolve(__dirname, '..', '..', '..', 'test') + path.sep];

/** Where jest-circus keeps the listeners to its events. */
const EVENT_HANDLERS = Symbol.for('EVENT_HANDLERS');

const AS_COMMONJS = {
  instrument: false,
  collectCoverage: false,
  collectCoverageFrom: [],
  coverageProvider: /** @type {const} */ ('v8'),
  isInternalModule: false,
  supportsDynamicImport: false,
  supportsExportNamespaceFrom: false,
  supportsStaticESM: false,
  supportsTopLevelAwait: false,
};

/** What the hooks of Node's `require` use: they are installed once, and each test file comes with a transformer. */
const hooks = {
  isInstalled: false,
  /** @type {ScriptTransformer | undefined} */
  transformer: undefined,
  /**
   * For the stacks of errors: the file with the source map of each transformed file.
   *
   * @type {Map<string, string>}
   */
  sourceMaps: new Map(),
};

class ProcessRuntime {
  /**
   * @param {Environment} environment
   * @param {ScriptTransformer} transformer
   */
  constructor(environment, transformer) {
    hooks.transformer = transformer;
    if (!hooks.isInstalled) installHooks();
    hooks.isInstalled = true;
    Object.assign(globalThis, { jest: jestObjectOf(environment) });
  }

  /**
   * A setup file, or the test file.
   *
   * @param {string} file
   */
  requireModule(file) {
    return /** @type {unknown} */ (require(file));
  }

  /**
   * A module of jest-circus.
   *
   * @param {string} file
   */
  requireInternalModule(file) {
    return /** @type {unknown} */ (require(file));
  }

  setGlobalsForRuntime() {
    // They are those of the process already.
  }

  unstable_shouldLoadAsEsm() {
    return false;
  }

  getSourceMaps() {
    return hooks.sourceMaps;
  }

  getAllCoverageInfoCopy() {
    return undefined;
  }

  enterTestCode() {
    // Nothing depends on whose code runs.
  }

  leaveTestCode() {
    // The same.
  }

  teardown() {
    const ofFile = Object.keys(require.cache).filter((name) => OF_ONE_FILE.some((folder) => name.includes(folder)));
    for (const name of ofFile) Reflect.deleteProperty(require.cache, name);
    Reflect.deleteProperty(globalThis, EVENT_HANDLERS);
    Reflect.deleteProperty(globalThis, 'jest');
  }
}

/**
 * What tests use of jest's object.
 *
 * @param {Environment} environment
 */
function jestObjectOf({ moduleMocker: mocks, fakeTimersModern: timers }) {
  return {
    fn: mocks.fn.bind(mocks),
    spyOn: mocks.spyOn.bind(mocks),
    useFakeTimers: timers.useFakeTimers.bind(timers),
    useRealTimers: timers.useRealTimers.bind(timers),
    advanceTimersByTime: timers.advanceTimersByTime.bind(timers),
    advanceTimersByTimeAsync: timers.advanceTimersByTimeAsync.bind(timers),
    advanceTimersToNextTimer: timers.advanceTimersToNextTimer.bind(timers),
    advanceTimersToNextTimerAsync: timers.advanceTimersToNextTimerAsync.bind(timers),
    getTimerCount: timers.getTimerCount.bind(timers),
  };
}

/** Node's `require` asks the transformer of jest for TypeScript, and for packages that have only ES modules. jest keeps the results on disk. */
function installHooks() {
  const { '.js': loadScript } = loader._extensions;
  const resolve = loader._resolveFilename;
  loader._extensions['.ts'] = loadTransformed;
  loader._extensions['.js'] = (module, filename) => {
    const isOfPackage = filename.includes(path.join('/', 'node_modules', '/'));
    (isOfPackage && hooks.transformer?.shouldTransform(filename) === true ? loadTransformed : loadScript)(module, filename);
  };
  loader._resolveFilename = function resolveSource(request, parent, ...rest) {
    // Modules that src/ imports on demand have the name of their compiled file.
    const isOfSource = request.startsWith('.') && request.endsWith('.js') && parent?.filename.endsWith('.ts') === true;
    const asSource = isOfSource ? request.replace(/\.js$/, '.ts') : request;
    try {
      return resolve.call(this, asSource, parent, ...rest);
    } catch (error) {
      if (asSource === request) throw error;
      return resolve.call(this, request, parent, ...rest);
    }
  };
}

/** @type {Load} */
function loadTransformed(module, filename) {
  const transformed = hooks.transformer?.transform(filename, AS_COMMONJS);
  if (transformed === undefined) throw new Error(`${filename} was loaded before the first test file`);
  if (transformed.sourceMapPath !== null) hooks.sourceMaps.set(filename, transformed.sourceMapPath);
  module._compile(transformed.code, filename);
}

/**
 * jest makes a runtime for each test file, with `new`.
 *
 * @param {ConstructorParameters<typeof JestRuntime>[0]} config
 * @param {ConstructorParameters<typeof JestRuntime>[1]} environment
 * @param {ConstructorParameters<typeof JestRuntime>[2]} resolver
 * @param {ConstructorParameters<typeof JestRuntime>[3]} transformer
 * @param {ConstructorParameters<typeof JestRuntime>[4]} sources
 * @param {ConstructorParameters<typeof JestRuntime>[5]} coverage
 * @param {ConstructorParameters<typeof JestRuntime>[6]} testFile
 * @param {ConstructorParameters<typeof JestRuntime>[7]} globalConfig
 */
module.exports = function Runtime(config, environment, resolver, transformer, sources, coverage, testFile, globalConfig) {
  return environment instanceof ProcessEnvironment
    ? new ProcessRuntime(environment, transformer)
    : new JestRuntime(config, environment, resolver, transformer, sources, coverage, testFile, globalConfig);
};
