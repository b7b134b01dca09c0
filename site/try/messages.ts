/** What the page Try and its worker say to each other. */

import type { Simulation } from '../../src/program/cli/simulate/run-simulation';
import type { Problem, Settings } from './settings';

export interface Ask {
  readonly number: number;
  readonly settings: Settings;
}

export type Answer =
  { readonly number: number; readonly simulations: readonly Simulation[] } | { readonly number: number; readonly problem: Problem };
