/** The options that name a descriptor of a request, and its buckets. */

import { readDescriptorText } from './entries-text';

export const DESCRIPTOR_OPTIONS = {
  domain: { type: 'string', form: 'DOMAIN', required: true, help: 'domain of the request' },
  descriptor: { type: 'string', form: 'KEY=VALUE,KEY=VALUE', required: true, help: 'entries of the descriptor, as in a request' },
} as const;

export const WRITE_OPTIONS = {
  'limit-name': { type: 'string', form: 'NAME', help: 'only the bucket of this limit (default: all of the descriptor)' },
  reason: { type: 'string', form: 'TEXT', help: 'why; for the audit log' },
  'dry-run': { type: 'boolean', help: 'only show what would change' },
} as const;

interface TargetValues {
  readonly domain: string;
  readonly descriptor: string;
  readonly reason?: string;
  readonly 'limit-name'?: string;
}

/** @throws UsageError */
export function readTarget({ domain, descriptor, reason, 'limit-name': limit }: TargetValues) {
  return {
    domain,
    entries: readDescriptorText(descriptor),
    ...(limit !== undefined && { limit }),
    ...(reason !== undefined && { reason }),
  };
}
