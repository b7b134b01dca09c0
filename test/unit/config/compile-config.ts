/** Compiles one file of text for a test, and collects what is wrong with it. */

import { compileConfig } from '../../../src/config/compile';
import { ConfigError } from '../../../src/config/config-error';
import type { ConfigFile } from '../../../src/config/yaml-text';
import type { RuleSet } from '../../../src/rule/rule-set';

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
