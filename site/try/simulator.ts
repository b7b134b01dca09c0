/** Asks the worker for simulations, one after the other: a new one ends the one that runs, and so does a time limit. */

import type { Answer, Ask } from './messages';
import type { Settings } from './settings';

/** Far more than the bounds of a simulation allow on a slow phone. */
const RUN_MS_MAX = 30_000;

export class Simulator {
  private worker: Worker | undefined;
  private number = 0;
  private asked: Settings | undefined;
  private running: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly onAnswer: (answer: Answer, settings: Settings) => void) {}

  run(settings: Settings): void {
    if (this.running !== undefined) this.end();
    this.number += 1;
    this.asked = settings;
    const { number } = this;
    this.worker ??= this.open();
    this.running = setTimeout(() => {
      this.end();
      this.answered({ number, problem: { message: `The simulation took more than ${RUN_MS_MAX / 1_000} seconds and was stopped.` } });
    }, RUN_MS_MAX);
    const ask: Ask = { number, settings };
    this.worker.postMessage(ask);
  }

  /** Also the simulation that runs. */
  end(): void {
    clearTimeout(this.running);
    this.running = undefined;
    this.worker?.terminate();
    this.worker = undefined;
  }

  private answered(answer: Answer): void {
    if (this.asked !== undefined) this.onAnswer(answer, this.asked);
  }

  private open(): Worker {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
    worker.addEventListener('message', ({ data }: MessageEvent<Answer>) => {
      if (data.number !== this.number) return;
      clearTimeout(this.running);
      this.running = undefined;
      this.answered(data);
    });
    worker.addEventListener('error', ({ message }) => {
      this.end();
      this.answered({ number: this.number, problem: { message: `The simulation failed: ${message}` } });
    });
    return worker;
  }
}
