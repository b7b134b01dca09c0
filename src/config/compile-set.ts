/** From a set to a rule set while answers are given: YAML is read in a thread, rules are made in slices. */

import { compileConfig, compileInSteps, type CompileOptions } from './compile';
import { inSlices } from './in-slices';
import { readDocuments, readIfLarge } from './read-documents';
import type { RulesInForceOptions } from './rules-in-force';

export type CompileSetOptions = Omit<CompileOptions, 'files' | 'problems' | 'generation'>;

/** Until there is a first rule set, nobody has an answer to wait for: all is made at once, and without a thread if that is soon done. */
export function makeCompileSet(options: CompileSetOptions): RulesInForceOptions['compile'] {
  let isFirst = true;
  return async ({ documents, problems = [] }, generation) => {
    const rest = { ...options, problems, generation };
    const ruleSet = isFirst ? compileConfig({ ...rest, files: await readIfLarge(documents) }) : await inSlices(compileInSteps({ ...rest, files: await readDocuments(documents) }));
    isFirst = false;
    return ruleSet;
  };
}
