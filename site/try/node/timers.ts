/** What the engines use of node:timers/promises, in a browser. */

export function setImmediate(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}
