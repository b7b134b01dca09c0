/**
 * jest runs this before each test file: the limit that a test or a hook names is never shorter than that of config/jest-preset.cjs. Such a limit
 * ends what hangs, and a busy machine is no hang.
 */

'use strict';

const { testTimeout } = require('../../../config/jest-preset.cjs');

/** @typedef {(...args: unknown[]) => unknown} Define */

/**
 * `define(name, test, limit)` with a longer limit; also what it makes of a table (`each`) and its variants (`only`, `skip`).
 *
 * @param {Define} define
 * @param {number} limitAt
 * @returns {Define}
 */
function patient(define, limitAt) {
  /** @param {...unknown} args */
  const patientDefine = (...args) => {
    const limit = args[limitAt];
    if (typeof limit === 'number') args[limitAt] = Math.max(limit, testTimeout);
    return define(...args);
  };
  return Object.assign(patientDefine, define);
}

/** @param {Define & { each?: Define }} define */
function patientTest(define) {
  const made = /** @type {Define & { each?: Define }} */ (patient(define, 2));
  const { each } = define;
  if (each !== undefined) {
    /** @param {...unknown} table */
    made.each = (...table) => patient(/** @type {Define} */ (each(...table)), 2);
  }
  return made;
}

/** @typedef {Define & Record<'only' | 'skip' | 'failing' | 'concurrent', Define>} Test */

const all = /** @type {Record<string, Test | undefined>} */ (/** @type {unknown} */ (globalThis));
for (const name of ['test', 'it']) {
  const define = all[name];
  if (define === undefined) continue;
  const { only, skip, failing } = define;
  all[name] = /** @type {Test} */ (
    Object.assign(patientTest(define), { only: patientTest(only), skip: patientTest(skip), failing: patientTest(failing) })
  );
}
for (const name of ['beforeAll', 'beforeEach', 'afterAll', 'afterEach']) {
  const define = all[name];
  if (define !== undefined) all[name] = /** @type {Test} */ (patient(define, 1));
}
