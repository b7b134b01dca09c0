/** Time for a simulation: timers that fire when the test says, in the order of their times; no real one passes. */

interface Timer {
  readonly dueUs: number;
  readonly fire: () => void;
  readonly everyUs?: number;
}

type Patched = 'setTimeout' | 'clearTimeout' | 'setInterval' | 'clearInterval' | 'setImmediate' | 'clearImmediate';

const REAL: Pick<typeof globalThis, Patched> = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate };

/** A handle as Node gives one. */
class Handle {
  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

export class VirtualTime {
  /** In whole microseconds, so that times add up. */
  nowUs = 0;
  /** In the order in which they were set. */
  private readonly timers = new Map<Handle, Timer>();

  /** Puts these timers in the place of Node's, for everything in this test file. */
  install(): void {
    const clear = (handle?: unknown): void => {
      this.timers.delete(handle as Handle);
    };
    Object.assign(globalThis, {
      setTimeout: (fire: () => void, ms = 0) => this.set({ fire, dueUs: this.nowUs + toUs(ms) }),
      setInterval: (fire: () => void, ms = 1) => this.set({ fire, dueUs: this.nowUs + toUs(ms), everyUs: toUs(ms) }),
      setImmediate: (fire: () => void) => this.set({ fire, dueUs: this.nowUs }),
      clearTimeout: clear,
      clearInterval: clear,
      clearImmediate: clear,
    });
  }

  /** Node's own again. Timers that are left never fire, and keep nothing of what they were set for. */
  uninstall(): void {
    Object.assign(globalThis, REAL);
    this.timers.clear();
  }

  /** Lets so much time pass: each timer that is due fires at its time, and what waits for nothing but promises runs. */
  async pass(ms: number): Promise<void> {
    const endUs = this.nowUs + toUs(ms);
    await runPromises();
    for (let next = this.next(endUs); next !== undefined; next = this.next(endUs)) {
      const [handle, timer] = next;
      this.nowUs = Math.max(this.nowUs, timer.dueUs);
      if (timer.everyUs === undefined) this.timers.delete(handle);
      else this.timers.set(handle, { ...timer, dueUs: this.nowUs + timer.everyUs });
      timer.fire();
      await runPromises();
    }
    this.nowUs = endUs;
  }

  private set(timer: Timer): Handle {
    const handle = new Handle();
    this.timers.set(handle, timer);
    return handle;
  }

  private next(endUs: number): readonly [Handle, Timer] | undefined {
    let first: readonly [Handle, Timer] | undefined;
    for (const entry of this.timers) if (entry[1].dueUs <= endUs && (first === undefined || entry[1].dueUs < first[1].dueUs)) first = entry;
    return first;
  }
}

function toUs(ms: number): number {
  return Math.round(ms * 1_000);
}

/** A turn of Node's own loop comes after every promise that is ready. */
function runPromises(): Promise<void> {
  return new Promise((resolve) => REAL.setImmediate(resolve));
}
