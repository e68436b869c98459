// A target with what was handed back to it, for the tests of this room.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "outputs/apply.h"
#include "outputs/paths.h"
#include "outputs/proposal.h"
#include "tree/test_support.h"

namespace cloche::outputs {

using Outputs = std::vector<Output>;

inline Terms terms_of(std::string producer, OnConflict on_conflict = OnConflict::kStop,
                      OnStale on_stale = OnStale::kKeep) {
  Terms terms;
  terms.producer = std::move(producer);
  terms.on_conflict = on_conflict;
  terms.on_stale = on_stale;
  terms.now = "2026-01-31T12:00:00Z";
  terms.key = tree::test_source();
  return terms;
}

inline Proposal proposed(const tree::TempTree& tree, const Outputs& outputs, const Terms& terms) {
  auto proposal = propose(tree.fd(), outputs, terms);
  EXPECT_TRUE(proposal) << proposal.error().text();
  return proposal ? *std::move(proposal) : Proposal{};
}

// "add a, conflict b": what would be done to each.
inline std::string verdicts(const Proposal& proposal) {
  std::string text;
  for (const Item& item : proposal.items) {
    text += (text.empty() ? "" : ", ") + std::string(to_string(item.verdict)) + " " + item.path;
  }
  return text;
}

inline std::string hand_back(const tree::TempTree& tree, const Outputs& outputs, const Terms& terms) {
  const Proposal proposal = proposed(tree, outputs, terms);
  const Status done = apply(tree.fd(), proposal, outputs, terms);
  EXPECT_EQ(done.has_value(), may_proceed(proposal, terms)) << (done ? "" : done.error().text());
  EXPECT_FALSE(tree.staging_exists());
  return verdicts(proposal);
}

inline std::string states(const tree::TempTree& tree) {
  const auto files = managed_files(tree.fd());
  EXPECT_TRUE(files) << files.error().text();
  std::string text;
  for (const Managed& file : *files) {
    text += (text.empty() ? "" : ", ") + std::string(to_string(file.state)) + " " + file.path + " " +
            file.owned.producer + (file.owned.stale ? " stale" : "");
  }
  return text;
}

// Without the manifest.
inline tree::Picture files_of(const tree::TempTree& tree) {
  tree::Picture picture = tree.picture();
  picture.erase(std::string(kManifestName));
  return picture;
}

}  // namespace cloche::outputs
