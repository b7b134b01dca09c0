/** A receiver of events for tests: it checks each signature, keeps what it took, and refuses while a test wants that. */

import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  readonly source: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface EventReceiver {
  readonly url: string;
  /** Every event that it answered with 204, repetitions too. */
  readonly events: ReceivedEvent[];
  /** Requests that it refused. */
  readonly refused: number;
  /** Signatures that did not fit. */
  readonly forged: number;
  /** The status of the next answers. */
  answerWith(status: number): void;
  close(): Promise<void>;
}

export async function startReceiver(secret: string): Promise<EventReceiver> {
  const events: ReceivedEvent[] = [];
  const counts = { refused: 0, forged: 0 };
  let status = 204;
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      const { 'webhook-id': id = '', 'webhook-timestamp': time = '', 'webhook-signature': signature } = request.headers;
      const hmac = createHmac('sha256', secret).update(`${String(id)}.${String(time)}.${body}`);
      if (signature !== `v1,${hmac.digest('base64')}`) counts.forged += 1;
      const event = JSON.parse(body) as ReceivedEvent;
      if (event.id !== id) counts.forged += 1;
      if (status === 204) events.push(event);
      else counts.refused += 1;
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    events,
    get refused() {
      return counts.refused;
    },
    get forged() {
      return counts.forged;
    },
    answerWith: (next) => {
      status = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
}
