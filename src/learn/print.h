// A learnt policy as a text for people: only what differs from the policy it extends, with comments.
#pragma once

#include <string>
#include <vector>

#include "learn/item.h"
#include "policy/schema_table.h"

namespace cloche::learn {

struct Learnt {
  std::string command;             // as it was given
  std::string extends;             // preset, or a path
  Policy parent;                   // what that is
  Policy policy;                   // what was learnt
  std::vector<Item> items;         // with their notes
  std::vector<Item> untried;       // perhaps not needed
  std::vector<Wanted> wanted;      // not granted
  std::vector<std::string> notes;  // sentences
};

// Keys whose value differs from the parent's.
std::vector<Key> changed_keys(const Policy& parent, const Policy& policy);

std::string to_text(const Learnt& learnt);

// The note of the item that put this text into a list, or nothing.
std::string note_on(const std::vector<Item>& items, const std::string& text);

}  // namespace cloche::learn
