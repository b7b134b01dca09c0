/** A process that asks the admin API what five open consoles ask, between the messages `look` and `rest`; it replies with the answers that it got. */

import { Agent, request } from 'node:http';
import { pageCallsOf, type Looked, type PageCall } from './page-calls';

export interface ClientsJob {
  readonly kind: 'look' | 'rest';
}

export interface Answers {
  readonly answered: number;
  readonly failed: number;
}

const [port = '', looked = '{}'] = process.argv.slice(2);

/** Browsers keep their connections. */
const agent = new Agent({ keepAlive: true });

const calls = pageCallsOf(JSON.parse(looked) as Looked).flatMap((page) => page.calls);

let timers: readonly NodeJS.Timeout[] = [];
let counts = { answered: 0, failed: 0 };

function ask({ method, target, body }: PageCall): void {
  const outgoing = request(
    { host: '127.0.0.1', port, agent, method, path: target, headers: body === undefined ? {} : { 'content-type': 'application/json' } },
    (response) => {
      response.resume();
      response.once('end', () => {
        if (response.statusCode === 200) counts.answered += 1;
        else counts.failed += 1;
      });
    },
  );
  outgoing.once('error', () => {
    counts.failed += 1;
  });
  outgoing.end(body);
}

process.on('message', ({ kind }: ClientsJob) => {
  for (const timer of timers) clearInterval(timer);
  timers = [];
  if (kind === 'look') {
    counts = { answered: 0, failed: 0 };
    // A page asks when it is opened, and then at its interval.
    for (const call of calls) ask(call);
    timers = calls.map((call) => setInterval(ask, call.everyMs, call));
  }
  process.send?.({ ...counts } satisfies Answers);
});
process.once('disconnect', () => process.exit());
