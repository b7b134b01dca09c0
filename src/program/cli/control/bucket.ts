/** `weir bucket`: what is left in buckets, why a request would be denied, and resets. */

import type { Bucket, Operations } from '../../../administration/admin-client/operations';
import { printable } from '../admin/printable';
import { action, type ControlCommand } from './control-command';
import { checksOf } from './record-command';
import { readDescriptorTexts, showEntries } from './values/entries-text';
import { idleLines } from './values/idle-lines';
import { limitTable } from './values/limit-table';
import { COUNT_OPTION, readPages, withMore } from './values/pages';
import { DESCRIPTOR_OPTIONS, readTarget, WRITE_OPTIONS } from './values/target';
import { textTable } from './values/text-table';
import { shortTime, showDuration, showTime } from './values/until';

const REQUEST_OPTIONS = {
  ...DESCRIPTOR_OPTIONS,
  descriptor: { ...DESCRIPTOR_OPTIONS.descriptor, multiple: true, help: 'entries of a descriptor; show and explain accept several' },
} as const;

type Explained = Operations['explainRequest']['reply'];

export const bucket: ControlCommand = {
  name: 'bucket',
  actions: [
    action({
      name: 'show',
      purpose: 'Shows what is left in the buckets of a request. Nothing is charged.',
      options: REQUEST_OPTIONS,
      run: async ({ admin, values: { domain, descriptor }, print }) => {
        const body = { domain: domain, descriptors: readDescriptorTexts(descriptor) };
        const reply = await admin.call('lookupBuckets', { body });
        print(reply, () => bucketTable(reply.buckets));
      },
    }),
    action({
      name: 'explain',
      purpose: 'Explains whether a request would be denied now, and by what. Nothing is charged.',
      options: REQUEST_OPTIONS,
      run: async ({ admin, values: { domain, descriptor }, nowMs, print }) => {
        const body = { domain: domain, descriptors: readDescriptorTexts(descriptor) };
        const reply = await admin.call('explainRequest', { body });
        print(reply, () => explanationText(reply, nowMs));
      },
    }),
    action({
      name: 'list',
      purpose: 'Lists the keys of the buckets of a domain.',
      options: {
        domain: DESCRIPTOR_OPTIONS.domain,
        prefix: { type: 'string', form: 'TEXT', help: 'only keys that go on with this text after the domain' },
        ...COUNT_OPTION,
      },
      run: async ({ admin, values: { domain, prefix, count }, print }) => {
        const query = { domain: domain, ...(prefix !== undefined && { prefix }) };
        const listed = await readPages(count, (page) => admin.call('listBuckets', { query: { ...query, ...page } }));
        print({ items: listed.items }, () => withMore(keyLines(listed.items), listed));
      },
    }),
    action({
      name: 'reset',
      purpose: 'Deletes the buckets of a descriptor, which are then full.',
      options: { ...DESCRIPTOR_OPTIONS, ...WRITE_OPTIONS },
      run: async ({ admin, values, print }) => {
        const reply = await admin.call('resetBuckets', {
          query: checksOf(values),
          body: readTarget(values),
        });
        print(reply, () => {
          const done = reply.dry_run ? 'Dry run: nothing was deleted.' : `${reply.deleted} deleted.`;
          return `${done} Before:\n${bucketTable(reply.before)}`;
        });
      },
    }),
  ],
};

function keyLines(items: readonly { readonly key: string }[]): string {
  return items.length === 0 ? 'There are none.' : items.map(({ key }) => printable(key)).join('\n');
}

function bucketTable(buckets: readonly Bucket[]): string {
  if (buckets.length === 0) return 'No limit applies.';
  return textTable(
    ['BUCKET', 'LIMIT', 'LEFT', 'DEBT', 'NEXT HIT', 'FULL AT'],
    buckets.map(({ key, limit, remaining, debt, retry_after_ms: retryAfterMs, reset_at: resetAt }) => [
      key,
      `${limit.requests_per_unit} per ${showDuration(limit.window_ms)}`,
      remaining,
      debt,
      nextHit(retryAfterMs),
      shortTime(resetAt),
    ]),
  );
}

function nextHit(retryAfterMs: number | undefined): string {
  if (retryAfterMs === undefined) return 'never';
  return retryAfterMs === 0 ? 'now' : `in ${showDuration(retryAfterMs)}`;
}

function explanationText({ over_limit: isDenied, control, without_effect: idle, explanation, buckets }: Explained, nowMs: number): string {
  const lines = [isDenied ? 'Denied now.' : 'Allowed now.'];
  for (const { descriptor, kind, id, until, reason } of control) {
    const end = until === undefined ? 'without an end' : `until ${showTime(until, nowMs)}`;
    const why = reason === undefined || reason === '' ? '' : ` (${printable(reason)})`;
    lines.push(`  By ${kind} ${printable(id)} ${end}, for descriptor ${descriptor}${why}.`);
  }
  lines.push(...idleLines(idle).map((line) => `  ${line}`));
  for (const [index, { entries, limits, unlimited, not_limited: why }] of explanation.descriptors.entries()) {
    const outcome = why ?? (unlimited ? 'unlimited by the configuration' : 'limits');
    lines.push(`  Descriptor ${index} (${printable(showEntries(entries))}): ${printable(outcome)}${limits.length === 0 ? '.' : ':'}`);
    lines.push(...limitTable(limits).map((line) => `  ${line}`));
  }
  return buckets.length === 0 ? lines.join('\n') : `${lines.join('\n')}\n${bucketTable(buckets)}`;
}
