/** Counts what one or two configurations decide on the same requests. */

import type { ReplayEngine } from './replay-engine';
import { ChangedKeys } from '../figures/changed-keys';
import { TimeSeries } from '../figures/time-series';

export interface ConfigurationFigures {
  readonly name: string;
  readonly engine: ReplayEngine;
  admitted: number;
  denied: number;
}

export class ReplayFigures {
  requests = 0;
  fromUs = Infinity;
  toUs = -Infinity;
  readonly series: TimeSeries;
  /** Denied by the first configuration; only counted without a second one. */
  readonly denied = new ChangedKeys();
  readonly newlyDenied = new ChangedKeys();
  readonly newlyAdmitted = new ChangedKeys();

  /** The configuration in force, then the candidate if there is one. */
  constructor(readonly configurations: readonly ConfigurationFigures[]) {
    this.series = new TimeSeries(configurations.length);
  }

  /** Counts the request that all configurations have just decided: by configuration, whether it is denied. */
  count(denials: readonly boolean[], timeUs: number): void {
    this.requests += 1;
    if (timeUs < this.fromUs) this.fromUs = timeUs;
    if (timeUs > this.toUs) this.toUs = timeUs;
    const { configurations } = this;
    const step = this.series.at(timeUs);
    step.requests += 1;
    for (let i = 0; i < configurations.length; i += 1) {
      const figures = configurations[i];
      if (figures === undefined) continue;
      figures.engine.count(timeUs);
      if (denials[i] === true) {
        figures.denied += 1;
        step.denied[i] = (step.denied[i] ?? 0) + 1;
      } else figures.admitted += 1;
    }
    const [before, after] = configurations;
    if (before === undefined) return;
    if (after === undefined) {
      if (denials[0] === true) this.denied.count(before.engine.denial());
    } else if (denials[0] !== denials[1]) {
      if (denials[1] === true) {
        step.newlyDenied += 1;
        this.newlyDenied.count(after.engine.denial());
      } else {
        step.newlyAdmitted += 1;
        this.newlyAdmitted.count(before.engine.denial());
      }
    }
  }
}
