/** How often a descriptor was denied in the last minute, ten minutes and hour, from the top keys. */

import { call } from '../../api/client';
import { showCount } from '../../api/show';
import { usePoll } from '../../api/use-poll';
import { ApiError } from '../../api/problem';
import type { Subject } from './subject';

const EVERY_MS = 10_000;

const WINDOWS = [1, 10, 60] as const;

/** The most keys of an answer. */
const COUNT = 100;

export function Denials({ subject: { domain }, text }: { readonly subject: Subject; readonly text: string }) {
  const { data, error } = usePoll(
    (signal) =>
      Promise.all(
        WINDOWS.map(async (minutes) => {
          const top = await call('listTopKeys', { query: { question: 'denied', minutes, count: COUNT, domain } }, { signal });
          const found = top.items.find(({ entries }) => entries === text);
          return { minutes, found, unlisted: top.unlisted_max };
        }),
      ),
    { key: `${domain} ${text}`, everyMs: EVERY_MS },
  );
  if (error instanceof ApiError && error.failure === 'refused') return <p class="muted">Denials: {error.message}.</p>;
  return (
    <section aria-labelledby="denials">
      <h2 id="denials">Denied hits</h2>
      <dl class="figures">
        {(data ?? []).map(({ minutes, found, unlisted }) => (
          <div key={minutes}>
            <dt>{minutes === 1 ? 'Last minute' : minutes === 60 ? 'Last hour' : `Last ${minutes} minutes`}</dt>
            <dd>
              <span class="value">
                {found === undefined ? (unlisted === 0 ? '0' : `at most ${showCount(unlisted)}`) : showCount(found.count)}
              </span>
              {found !== undefined && found.error > 0 && <span class="note">at least {showCount(found.count - found.error)}</span>}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
