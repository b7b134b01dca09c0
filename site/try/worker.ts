/** Runs simulations beside the page, so that the page stays alive and may end a long one. */

import './node/global-buffer';
import { limitTargets, runAll } from '../../src/program/cli/simulate/read-simulation';
import type { Answer, Ask } from './messages';
import { BOUNDS, problemOf, runOf } from './settings';

addEventListener('message', ({ data }: MessageEvent<Ask>) => {
  void answerTo(data).then((answer) => {
    postMessage(answer);
  });
});

async function answerTo({ number, settings }: Ask): Promise<Answer> {
  try {
    const { limit, values } = runOf(settings);
    return { number, simulations: await runAll(limitTargets(limit, values), values, BOUNDS) };
  } catch (error) {
    return { number, problem: problemOf(error instanceof Error ? error.message : String(error)) };
  }
}
