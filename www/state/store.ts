/** The state of the page as a signal, and its listeners. */
import { batch, createSignal } from "solid-js";
import { type Action, initial, type Preferences, type State } from "./model";
import { update } from "./update";

export type Heard = (after: State, before: State) => void;

export interface Store {
  state(): State;
  dispatch(action: Action): void;
  /** Calls `heard` after every change, in the order of registration. */
  onChange(heard: Heard): void;
}

export function createStore(preferences: Preferences): Store {
  const [state, setState] = createSignal<State>({ ...initial, preferences });
  const listeners: Heard[] = [];
  return {
    state,
    dispatch(action) {
      const before = state();
      const after = update(before, action);
      if (after === before) return;
      // Renders once, with the diff that arrived with the change rather than first with the old one.
      batch(() => {
        setState(after);
        for (const heard of listeners) heard(after, before);
      });
    },
    onChange: (heard) => void listeners.push(heard),
  };
}
