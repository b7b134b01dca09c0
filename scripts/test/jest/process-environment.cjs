/**
 * A test environment of jest: the globals of the process, in place of a context for each test file. What a test file replaces of them is put
 * back at its end. A file that needs a context of its own says so: `@jest-environment node`.
 */

const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

/** @typedef {import('@jest/environment').JestEnvironment} JestEnvironment */

/** As many frames as in jest's own environment. */
const STACK_FRAMES = 100;

/** What tests replace, by spies and false timers. */
const REPLACED = /** @type {const} */ ([
  ...['console', 'Date', 'performance', 'queueMicrotask'],
  ...['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'clearImmediate'],
]);

/** @implements {JestEnvironment<unknown>} */
module.exports = class ProcessEnvironment {
  /** @param {import('@jest/environment').JestEnvironmentConfig} config */
  constructor({ projectConfig }) {
    this.global = globalThis;
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimers = null;
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    // jest's runner replaces it for each file.
    this.exit = Object.getOwnPropertyDescriptor(process, 'exit');
    this.variables = { ...process.env };
    this.globals = REPLACED.map((name) => ({ name, descriptor: Object.getOwnPropertyDescriptor(globalThis, name) }));
  }

  setup() {
    Error.stackTraceLimit = STACK_FRAMES;
    return Promise.resolve();
  }

  teardown() {
    this.moduleMocker.restoreAllMocks();
    this.fakeTimersModern.dispose();
    // A spy on a false timer has put that one back.
    for (const { name, descriptor } of this.globals) if (descriptor !== undefined) Object.defineProperty(globalThis, name, descriptor);
    if (this.exit !== undefined) Object.defineProperty(process, 'exit', this.exit);
    for (const name of Object.keys(process.env)) if (!(name in this.variables)) Reflect.deleteProperty(process.env, name);
    Object.assign(process.env, this.variables);
    return Promise.resolve();
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  /** Only the coverage of V8 asks for a context. */
  getVmContext() {
    return null;
  }
};
