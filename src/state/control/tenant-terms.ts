/** Numbers for what many tenants have in common: the plan, and who put them on it and why. */

import { toByteString, toText } from '../../domain/descriptor/byte-string';
import type { ByteString } from '../../domain/descriptor/descriptor';
import type { TenantRecord } from './control-record';
import { Names } from './tenants/names';

/** Most different combinations with a reason or an author, which a replica needs only to restore them: some megabytes. */
export const NOTES_MAX = 20_000;

/** No text of a record contains it: JSON would write it as an escape, and an operator cannot type it. */
const SEPARATOR = '\0';

export type TenantNotes = Pick<TenantRecord, 'reason' | 'author'>;

export class TenantTerms {
  private readonly names = new Names();
  /** By number. */
  private readonly plans: ByteString[] = [];
  /** Tenants by names with notes. */
  private readonly noted = new Map<string, number>();

  /** Empty: the tenant has none of its own. */
  planOf(number: number): ByteString {
    return this.plans[number] ?? '';
  }

  notesOf(number: number): TenantNotes {
    const name = this.names.nameOf(number);
    if (!this.noted.has(name)) return {};
    const [, reason = '', author = ''] = name.split(SEPARATOR);
    return { ...(reason !== '' && { reason: toText(reason) }), ...(author !== '' && { author: toText(author) }) };
  }

  /** The number of the terms, with one use more. Beyond `NOTES_MAX` those of the plan alone. */
  acquire({ plan = '', reason = '', author = '' }: Pick<TenantRecord, 'plan' | 'reason' | 'author'>): number {
    const own = toByteString(plan);
    const withNotes = [own, toByteString(reason), toByteString(author)].join(SEPARATOR);
    const uses = this.noted.get(withNotes) ?? 0;
    const hasNotes = (reason !== '' || author !== '') && (uses > 0 || this.noted.size < NOTES_MAX);
    const isKept = hasNotes && !`${plan}${reason}${author}`.includes(SEPARATOR);
    if (isKept) this.noted.set(withNotes, uses + 1);
    const number = this.names.acquire(isKept ? withNotes : own);
    this.plans[number] = own;
    return number;
  }

  release(number: number): void {
    const name = this.names.nameOf(number);
    this.names.release(number);
    const uses = this.noted.get(name);
    if (uses === undefined) return;
    if (uses === 1) this.noted.delete(name);
    else this.noted.set(name, uses - 1);
  }
}
