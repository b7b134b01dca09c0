/** A store of control data for tests that fails, loses its data, or trims its log when the test says so. */

import type { ControlStore } from '../../../src/state/control/control-store';
import type { LocalControlStore } from '../../../src/state/control/local-control-store';

export class ChangingStore implements ControlStore {
  isAway = false;
  isTrimmed = false;
  /** Called before each page is read. */
  onScan: () => void = () => undefined;

  constructor(public behind: LocalControlStore) {}

  read: ControlStore['read'] = (keys) => this.ask((store) => store.read(keys));
  scan: ControlStore['scan'] = (query) => {
    this.onScan();
    return this.ask((store) => store.scan(query));
  };
  write: ControlStore['write'] = (write) => this.ask((store) => store.write(write));
  audit: ControlStore['audit'] = (query) => this.ask((store) => store.audit(query));
  discardLost: ControlStore['discardLost'] = (note) => this.ask((store) => store.discardLost(note));

  changesAfter: ControlStore['changesAfter'] = (position) =>
    this.ask(async (store) => {
      const answer = await store.changesAfter(position);
      if (!this.isTrimmed || position === undefined || answer.kind !== 'changes' || answer.changes.length === 0) return answer;
      // What a trimmed log answers to a follower that was away for too long.
      const current = await store.changesAfter(undefined);
      return current.kind === 'gap' ? { ...current, common: Infinity } : current;
    });

  close(): Promise<void> {
    return Promise.resolve();
  }

  private ask<T>(ask: (store: LocalControlStore) => Promise<T>): Promise<T> {
    return this.isAway ? Promise.reject(new Error('away')) : ask(this.behind);
  }
}
