// SPDX-License-Identifier: Apache-2.0
// The main of a test whose suites are tests of CTest: 77, a skip, where every test that ran was skipped.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int code = RUN_ALL_TESTS();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  const bool nothing_ran = all.successful_test_count() == 0 && all.skipped_test_count() > 0;
  return code == 0 && nothing_ran ? 77 : code;
}
