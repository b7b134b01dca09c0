/** A gate that holds calls until it opens: Weir binds all of its ports before one of them answers. */

import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';

export class Gate {
  /** Resolves when the gate opens. */
  readonly opened: Promise<void>;
  private onOpen: () => void = () => undefined;
  private hasOpened = false;

  constructor() {
    this.opened = new Promise((resolve) => {
      this.onOpen = resolve;
    });
  }

  get isOpen(): boolean {
    return this.hasOpened;
  }

  /** Lets all calls pass, also those that wait. */
  open(): void {
    this.hasOpened = true;
    this.onOpen();
  }
}

/** Node itself answers what is not HTTP with an error; before the gate opens, such a connection is closed without an answer. */
export function refuseUntilOpen(server: Server, gate: Gate): void {
  const refuse = (_: Error, socket: Duplex): void => {
    socket.destroy();
  };
  server.prependListener('clientError', refuse);
  void gate.opened.then(() => server.off('clientError', refuse));
}
