/** The options that name a descriptor of a request, and its buckets. */

import type { Values } from './control-command';
import { readDescriptorText } from './values/entries-text';

export const DESCRIPTOR_OPTIONS = {
  domain: { type: 'string', form: 'DOMAIN', required: true, help: 'domain of the request' },
  descriptor: { type: 'string', form: 'KEY=VALUE,KEY=VALUE', required: true, help: 'entries of the descriptor, as in a request' },
} as const;

export const WRITE_OPTIONS = {
  'limit-name': { type: 'string', form: 'NAME', help: 'only the bucket of this limit (default: all of the descriptor)' },
  reason: { type: 'string', form: 'TEXT', help: 'why; for the audit log' },
  'dry-run': { type: 'boolean', help: 'only show what would change' },
} as const;

/** @throws UsageError */
export function readTarget(values: Values<typeof DESCRIPTOR_OPTIONS & typeof WRITE_OPTIONS>) {
  const { domain, descriptor, reason, 'limit-name': limit } = values;
  return {
    domain: domain,
    entries: readDescriptorText(descriptor),
    ...(limit !== undefined && { limit }),
    ...(reason !== undefined && { reason }),
  };
}
