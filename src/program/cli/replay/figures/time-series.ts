/** Requests and denials over time, in a bounded number of steps that become longer as the log does. */

import { US_PER_S } from '../../../../lib/time-units';

/** Each divides the next one. */
const WIDTHS_S = [1, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400, 604_800];

const STEPS_MAX = 120;

export interface TimeStep {
  requests: number;
  /** By configuration. */
  readonly denied: number[];
  newlyDenied: number;
  newlyAdmitted: number;
}

export interface PlacedStep extends TimeStep {
  readonly startUs: number;
}

export class TimeSeries {
  widthS = WIDTHS_S[0] ?? 1;
  private readonly steps = new Map<number, TimeStep>();
  private first = Infinity;
  private last = -Infinity;
  private lastStep: TimeStep | undefined;

  constructor(private readonly configurations: number) {}

  /** The step of a time. */
  at(timeUs: number): TimeStep {
    const index = Math.floor(timeUs / (this.widthS * US_PER_S));
    if (index === this.last && this.lastStep !== undefined) return this.lastStep;
    this.first = Math.min(this.first, index);
    this.last = Math.max(this.last, index);
    if (this.last - this.first >= STEPS_MAX) {
      this.widen();
      return this.at(timeUs);
    }
    const step = this.steps.get(index) ?? newStep(this.configurations);
    this.steps.set(index, step);
    this.lastStep = index === this.last ? step : undefined;
    return step;
  }

  /** In order of time; steps without requests are left out. */
  placed(): PlacedStep[] {
    return [...this.steps].sort(([a], [b]) => a - b).map(([index, step]) => ({ startUs: index * this.widthS * US_PER_S, ...step }));
  }

  private widen(): void {
    const wider = WIDTHS_S.find((width) => width > this.widthS) ?? this.widthS * 2;
    const factor = wider / this.widthS;
    const before = [...this.steps];
    this.steps.clear();
    for (const [index, step] of before) {
      const sum = this.steps.get(Math.floor(index / factor)) ?? newStep(this.configurations);
      sum.requests += step.requests;
      sum.newlyDenied += step.newlyDenied;
      sum.newlyAdmitted += step.newlyAdmitted;
      for (let i = 0; i < this.configurations; i += 1) sum.denied[i] = (sum.denied[i] ?? 0) + (step.denied[i] ?? 0);
      this.steps.set(Math.floor(index / factor), sum);
    }
    this.widthS = wider;
    this.first = Math.floor(this.first / factor);
    this.last = Math.floor(this.last / factor);
    this.lastStep = undefined;
  }
}

function newStep(configurations: number): TimeStep {
  return { requests: 0, denied: new Array<number>(configurations).fill(0), newlyDenied: 0, newlyAdmitted: 0 };
}
