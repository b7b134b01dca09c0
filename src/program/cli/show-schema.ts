/** `weir schema`: prints the JSON Schema of a configuration file, or of a file of tests. */

import { renderJsonSchema } from '../../configuration/compile/schema/json-schema';
import { readArgs } from './read-args';
import { renderTestSchema } from './test/file/test-schema';

export const SCHEMA_USAGE = `weir schema [--tests]

  --tests     the schema of a file of tests (*.test.yaml) instead

Editors check and complete a file by it that begins with # yaml-language-server: $schema=FILE.`;

export const SCHEMA_OPTIONS = { tests: { type: 'boolean' } } as const;

/**
 * Returns the exit code.
 *
 * @throws UsageError
 */
export function showSchema({ args }: { readonly args: readonly string[] }): number {
  const { values } = readArgs(args, { command: 'weir schema', usage: SCHEMA_USAGE, options: SCHEMA_OPTIONS });
  process.stdout.write(values.tests === true ? renderTestSchema() : renderJsonSchema());
  return 0;
}
