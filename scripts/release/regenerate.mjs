/** Runs the generators of files that depend on the values of the chart: its README and schema, and the manifests for kustomize. */
import { exitWith } from '../process/repository.mjs';
import { failureOf, run } from '../process/run.mjs';

const TIMEOUT_S = 900;

export async function regenerate() {
  for (const name of ['chart', 'kubernetes']) {
    const script = `scripts/generate/${name}.mjs`;
    const ended = await run(process.execPath, [script], { timeoutS: TIMEOUT_S });
    if (ended.code !== 0) exitWith(`${failureOf(`node ${script}`, ended, TIMEOUT_S)}. Fix the cause, then run it.`);
    console.log(`Wrote what ${script} writes`);
  }
}
