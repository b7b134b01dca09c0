/** The parents of tenants in a replica, and the tenants below each: costs nothing for tenants without a parent. */

import { copyOf } from '../../../domain/descriptor/byte-string';
import type { ByteString } from '../../../domain/descriptor/descriptor';
import { Names } from './names';
import { TenantTable, type TenantName } from './tenant-table';

/** A page of the tenants directly below one. */
export interface ChildrenPage {
  /** In the order of their bytes. */
  readonly names: readonly ByteString[];
  /** All of them. */
  readonly count: number;
  /** For the next page; absent: this one is the last. */
  readonly next?: ByteString;
}

export interface ChildrenQuery {
  /** The page begins after this name. Absent: at the first. */
  readonly after?: ByteString | undefined;
  readonly limit: number;
}

export class TenantParents {
  /** The plan of an entry is the number of the parent's name. */
  private readonly table = new TenantTable();
  private readonly names = new Names();
  private readonly children = new Map<string, Set<ByteString>>();

  /** Number of tenants with a parent. */
  get size(): number {
    return this.table.size;
  }

  parentOf(domain: number, tenant: ByteString): ByteString | undefined {
    const number = this.table.planOf(domain, tenant);
    return number < 0 ? undefined : this.names.nameOf(number);
  }

  add({ domain, tenant }: TenantName, parent: ByteString): void {
    this.table.set({ domain, tenant }, { plan: this.names.acquire(parent), version: 0, mark: 0 });
    const key = keyOf(domain, parent);
    const siblings = this.children.get(key) ?? new Set();
    if (siblings.size === 0) this.children.set(copyOf(key), siblings);
    siblings.add(copyOf(tenant));
  }

  remove({ domain, tenant }: TenantName): void {
    const number = this.table.planOf(domain, tenant);
    if (number < 0) return;
    const key = keyOf(domain, this.names.nameOf(number));
    this.table.delete({ domain, tenant });
    this.names.release(number);
    const siblings = this.children.get(key);
    siblings?.delete(tenant);
    if (siblings?.size === 0) this.children.delete(key);
  }

  childrenOf({ domain, tenant }: TenantName, { after, limit }: ChildrenQuery): ChildrenPage {
    const siblings = this.children.get(keyOf(domain, tenant)) ?? NONE;
    if (limit === 0) return { names: [], count: siblings.size };
    const later = [...siblings].filter((name) => after === undefined || name > after).sort(byBytes);
    const names = later.slice(0, limit);
    const last = names.at(-1);
    return { names, count: siblings.size, ...(later.length > limit && last !== undefined && { next: last }) };
  }
}

const NONE: ReadonlySet<ByteString> = new Set();

function keyOf(domain: number, parent: ByteString): string {
  return `${domain} ${parent}`;
}

function byBytes(a: ByteString, b: ByteString): number {
  return a < b ? -1 : Number(a > b);
}
