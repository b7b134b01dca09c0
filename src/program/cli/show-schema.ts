/** `weir schema`: prints the JSON Schema of a configuration file. */

import { renderJsonSchema } from '../../configuration/compile/schema/json-schema';
import { readArgs } from './read-args';

export const SCHEMA_USAGE = `weir schema

Editors check and complete a file by it that begins with # yaml-language-server: $schema=FILE.`;

/**
 * Returns the exit code.
 *
 * @throws UsageError
 */
export function showSchema({ args }: { readonly args: readonly string[] }): number {
  readArgs(args, { command: 'weir schema', usage: SCHEMA_USAGE, options: {} });
  process.stdout.write(renderJsonSchema());
  return 0;
}
