/** A change in two steps: what to change, then what the dry run says, and only then the write. */

import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ComponentChildren, RefObject } from 'preact';
import { DataTable } from './data-table';
import { FailureNote } from './failure';
import { State } from './state';

export interface Effect {
  readonly what: string;
  readonly before: string;
  readonly after: string;
}

export interface Preview {
  readonly effects: readonly Effect[];
  /** Why the write has no effect, or only a part of it. */
  readonly warnings: readonly string[];
  /** False: the write would change nothing. */
  readonly changes: boolean;
}

export interface Change {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly fields: ComponentChildren;
  /** Shows what `run` with `isDry` says. */
  readonly run: (options: { readonly isDry: boolean }) => Promise<Preview>;
  /** The word on the button that writes. */
  readonly verb: string;
}

interface ChangeDialogProps extends Change {
  readonly onClose: (wasWritten: boolean) => void;
}

export function ChangeDialog({ title, note, fields, run, verb, onClose }: ChangeDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const write = useRef<HTMLButtonElement>(null);
  const titleId = useId();
  const [preview, setPreview] = useState<Preview | undefined>(undefined);
  const [error, setError] = useState<Error | undefined>(undefined);
  const [isBusy, setIsBusy] = useState(false);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  // Before the dry run is painted: Enter then always writes what is seen.
  useLayoutEffect(() => {
    if (preview !== undefined) write.current?.focus();
  }, [preview]);
  const go = async (): Promise<void> => {
    setIsBusy(true);
    setError(undefined);
    try {
      const shown = await run({ isDry: preview === undefined });
      if (preview === undefined) setPreview(shown);
      else onClose(true);
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)));
      setPreview(undefined);
    }
    setIsBusy(false);
  };
  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      onClose={() => {
        onClose(false);
      }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void go();
        }}
      >
        <h2 id={titleId}>{title}</h2>
        {note !== undefined && <p class="muted">{note}</p>}
        <fieldset disabled={preview !== undefined || isBusy}>
          <legend class="unseen">What to change</legend>
          {fields}
        </fieldset>
        <div aria-live="polite">{preview !== undefined && <PreviewOf preview={preview} />}</div>
        <FailureNote error={error} />
        <Buttons
          write={write}
          verb={verb}
          isPreviewed={preview !== undefined}
          isBusy={isBusy}
          onPreview={setPreview}
          onCancel={() => dialog.current?.close()}
        />
      </form>
    </dialog>
  );
}

interface ButtonsProps {
  /** The button that writes, which gets the focus. */
  readonly write: RefObject<HTMLButtonElement | null>;
  readonly verb: string;
  readonly isPreviewed: boolean;
  readonly isBusy: boolean;
  /** Undefined: back to the fields. */
  readonly onPreview: (preview: undefined) => void;
  readonly onCancel: () => void;
}

function Buttons({ write, verb, isPreviewed, isBusy, onPreview, onCancel }: ButtonsProps) {
  return (
    <div class="buttons">
      {!isPreviewed ? (
        <button type="submit" class="main" disabled={isBusy}>
          Preview
        </button>
      ) : (
        <button ref={write} type="submit" class="main" disabled={isBusy}>
          {verb}
        </button>
      )}
      {isPreviewed && (
        <button
          type="button"
          disabled={isBusy}
          onClick={() => {
            onPreview(undefined);
          }}
        >
          Change
        </button>
      )}
      <button type="button" class="quiet" onClick={onCancel}>
        Cancel
      </button>
    </div>
  );
}

function PreviewOf({ preview }: { readonly preview: Preview }) {
  return (
    <>
      <DataTable
        caption="The dry run says"
        rows={preview.effects}
        keyOf={({ what }, index) => `${index} ${what}`}
        empty="Nothing would change."
        columns={[
          { head: 'What', isHead: true, cell: ({ what }) => what },
          { head: 'Now', cell: ({ before }) => before },
          { head: 'Then', cell: ({ after }) => after },
        ]}
      />
      <ul class="warnings">
        {preview.warnings.map((text) => (
          <li key={text}>
            <State kind="warn">{text}</State>
          </li>
        ))}
      </ul>
      {!preview.changes && <p>The write would change nothing.</p>}
    </>
  );
}
