/** Required by a process before all else: keeps the longest turns of its event loop, and writes them to TURN_CLOCK_FILE on SIGUSR2. */

'use strict';

const { Buffer } = require('node:buffer');
const fs = require('node:fs');
const { performance } = require('node:perf_hooks');
const { setInterval } = require('node:timers');
const { isMainThread } = require('node:worker_threads');

/** How many are kept. */
const TURNS_MAX = 20;

if (isMainThread) {
  const waited = openWaited();
  let lastMs = performance.now();
  let lastWaitedMs = waited();
  /** @type {number[]} */
  let turns = [];
  // Between two of its turns a timer waits for as long as one of the loop takes, and a millisecond.
  setInterval(() => {
    const nowMs = performance.now();
    const nowWaitedMs = waited();
    turns.push(nowMs - lastMs - (nowWaitedMs - lastWaitedMs));
    lastMs = nowMs;
    lastWaitedMs = nowWaitedMs;
    if (turns.length > 1000) turns = longest(turns);
  }, 1).unref();
  process.on('SIGUSR2', () => {
    const file = String(process.env.TURN_CLOCK_FILE);
    // Renamed when complete, for readers.
    fs.writeFileSync(`${file}.new`, JSON.stringify(longest(turns)));
    fs.renameSync(`${file}.new`, file);
    turns = [];
  });
}

/** @param {number[]} turns */
function longest(turns) {
  return turns.sort((one, other) => other - one).slice(0, TURNS_MAX);
}

/** How long this thread has waited for a processor that others had, in milliseconds; always 0 where the kernel does not say. */
function openWaited() {
  const buffer = Buffer.alloc(128);
  try {
    const fd = fs.openSync(`/proc/${process.pid}/schedstat`, 'r');
    return () => Number(buffer.toString('latin1', 0, fs.readSync(fd, buffer, 0, buffer.length, 0)).split(' ')[1]) / 1e6;
  } catch {
    return () => 0;
  }
}
