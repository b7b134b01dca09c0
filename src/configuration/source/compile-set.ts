/** Compiles a set into a rule set while requests are served: a thread parses the YAML, and rules are compiled in slices. */

import { compileConfig, compileInSteps, type CompileOptions } from '../compile/compile';
import { runInSlices } from '../../lib/slices';
import { readDocuments, readUnlessSmall } from '../yaml/read-documents';
import type { RulesInForceOptions } from './rules-in-force';

export type CompileSetOptions = Omit<CompileOptions, 'files' | 'problems' | 'generation'>;

/** Nothing is served before the first rule set, so that one is compiled in one go, and a small text is parsed without a thread. */
export function makeCompileSet(options: CompileSetOptions): RulesInForceOptions['compile'] {
  let isFirst = true;
  return async ({ documents, problems = [] }, generation) => {
    const rest = { ...options, problems, generation };
    const ruleSet = isFirst
      ? compileConfig({ ...rest, files: await readUnlessSmall(documents) })
      : await runInSlices(compileInSteps({ ...rest, files: await readDocuments(documents) }));
    isFirst = false;
    return ruleSet;
  };
}
