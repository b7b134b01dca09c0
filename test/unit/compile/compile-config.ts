/** Compiles configurations for a test, and collects what is wrong with them; the JSON Schema must agree each time. */

import * as compiler from '../../../src/configuration/compile/compile';
import { ConfigError, type ConfigProblem } from '../../../src/configuration/problems/config-error';
import type { ConfigFile } from '../../../src/configuration/yaml/yaml-text';
import type { RuleSet } from '../../../src/domain/rule/rule-set';
import { expectSchemaAgrees } from '../../support/config/schema-agreement';

export type { CompileOptions } from '../../../src/configuration/compile/compile';

export function compileConfig(options: compiler.CompileOptions): RuleSet {
  try {
    const ruleSet = compiler.compileConfig(options);
    expectAgreement(options, []);
    return ruleSet;
  } catch (error) {
    if (error instanceof ConfigError) expectAgreement(options, error.problems);
    throw error;
  }
}

export function examineConfig(options: compiler.CompileOptions): compiler.Examined {
  const examined = compiler.examineConfig(options);
  expectAgreement(options, examined.list.found().kept);
  return examined;
}

function expectAgreement({ files }: compiler.CompileOptions, problems: readonly ConfigProblem[]): void {
  for (const file of files) {
    if (!('text' in file)) continue;
    const messages = problems.filter(({ file: name }) => name === file.name).map(({ message }) => message);
    expectSchemaAgrees(file.text, messages);
  }
}

export function compileText(text: string): RuleSet {
  return compileConfig({ files: [{ name: 'c.yaml', text }], defaultAlgorithm: 'fixed_window', generation: 1 });
}

/** The lines of the ConfigError that the files end with. */
export function problemsOf(...texts: readonly string[]): string[] {
  return problemsOfFiles(texts.map((text, index) => ({ name: index === 0 ? 'c.yaml' : `c${index + 1}.yaml`, text })));
}

/** The same for files with names of their own. */
export function problemsOfFiles(files: readonly ConfigFile[]): string[] {
  try {
    compileConfig({ files, defaultAlgorithm: 'fixed_window', generation: 1 });
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n');
    throw error;
  }
  return [];
}
